/* The rows of kinds of commands; see command_row.h. */
#include "shim/gds/stream/command_row.h"

const struct mgds_command_row mgds_command_rows[MGDS_COMMAND_KINDS] = {
#define MGDS_STEP(name, blocks, part, fused, alone)                            \
    [MGDS_COMMAND_##name] = {MGDS_BLOCKS_##blocks, MGDS_PART_##part,           \
                             MGDS_FUSED_##fused, MGDS_ALONE_##alone},
#include "shim/gds/stream/command_kinds.def"
};
