/* The field of a rank for a size of face: cells, faces. Pure functions. */
#ifndef MGDS_HALO_SHAPE_H
#define MGDS_HALO_SHAPE_H

#include <stddef.h>

#include "osu-extensions/halo/args.h"

/*
 * Fills the geometry of `args` for faces of `bytes` each, in 1 to 3 dimensions;
 * `neighbours` has bit f for each face that has one: only those are packed.
 * 1-D: 4 rows. 2-D: at most 1024 x 1024 cells. 3-D: at most 64 x 64 x 64. What
 * is more than one element goes into each cell. Returns 0, or -EINVAL for a
 * size that no such field has.
 */
int mgds_halo_shape(struct mgds_halo_args *args, int dims, size_t bytes,
                    unsigned neighbours);

/* Elements of the whole field, ghosts included. */
size_t mgds_halo_elements(const struct mgds_halo_args *args);

/* Whether the cells of a face lie in a row: they are sent where they are. */
int mgds_halo_in_a_row(const struct mgds_halo_face *face);

#endif
