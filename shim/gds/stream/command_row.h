/* What differs between kinds of steps, in the words of command_kinds.def. */
#ifndef MGDS_STREAM_COMMAND_ROW_H
#define MGDS_STREAM_COMMAND_ROW_H

#include "shim/gds/stream/gstream.h"

enum mgds_step_blocks {
    MGDS_BLOCKS_NEVER,
    MGDS_BLOCKS_CPU,
    MGDS_BLOCKS_PEER,
};

enum mgds_step_part {
    MGDS_PART_NONE,
    MGDS_PART_SENDS,
    MGDS_PART_FLAG,
    MGDS_PART_TAKES,
    MGDS_PART_AWAITS,
};

enum mgds_step_fused {
    MGDS_FUSED_NONE,
    MGDS_FUSED_COPIES,
    MGDS_FUSED_TAKES,
    MGDS_FUSED_AWAITS,
};

enum mgds_step_alone {
    MGDS_ALONE_NONE,
    MGDS_ALONE_COPY,
    MGDS_ALONE_WORD,
    MGDS_ALONE_LAUNCH,
};

struct mgds_step_row {
    enum mgds_step_blocks blocks;
    enum mgds_step_part part;
    enum mgds_step_fused fused;
    enum mgds_step_alone alone;
};

extern const struct mgds_step_row mgds_step_rows[MGDS_STEP_KINDS];

static inline const struct mgds_step_row *
mgds_step_row(const struct mgds_step *step)
{
    return &mgds_step_rows[step->kind];
}

#endif
