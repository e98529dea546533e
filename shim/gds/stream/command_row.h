/* What differs between kinds of commands, in the words of command_kinds.def. */
#ifndef MGDS_STREAM_COMMAND_ROW_H
#define MGDS_STREAM_COMMAND_ROW_H

#include "shim/gds/stream/gstream.h"

enum mgds_command_blocks {
    MGDS_BLOCKS_NEVER,
    MGDS_BLOCKS_CPU,
    MGDS_BLOCKS_PEER,
};

enum mgds_command_part {
    MGDS_PART_NONE,
    MGDS_PART_SENDS,
    MGDS_PART_FLAG,
    MGDS_PART_TAKES,
    MGDS_PART_AWAITS,
};

enum mgds_command_fused {
    MGDS_FUSED_NONE,
    MGDS_FUSED_COPIES,
    MGDS_FUSED_TAKES,
    MGDS_FUSED_AWAITS,
};

enum mgds_command_alone {
    MGDS_ALONE_NONE,
    MGDS_ALONE_COPY,
    MGDS_ALONE_WORD,
    MGDS_ALONE_LAUNCH,
};

struct mgds_command_row {
    enum mgds_command_blocks blocks;
    enum mgds_command_part part;
    enum mgds_command_fused fused;
    enum mgds_command_alone alone;
};

extern const struct mgds_command_row mgds_command_rows[MGDS_COMMAND_KINDS];

static inline const struct mgds_command_row *
mgds_command_row(const struct mgds_command *command)
{
    return &mgds_command_rows[command->kind];
}

#endif
