/* The rows of kinds of steps; see command_row.h. */
#include "shim/gds/stream/command_row.h"

const struct mgds_step_row mgds_step_rows[MGDS_STEP_KINDS] = {
#define MGDS_STEP(name, blocks, part, fused, alone)                            \
    [MGDS_STEP_##name] = {MGDS_BLOCKS_##blocks, MGDS_PART_##part,              \
                          MGDS_FUSED_##fused, MGDS_ALONE_##alone},
#include "shim/gds/stream/command_kinds.def"
};
