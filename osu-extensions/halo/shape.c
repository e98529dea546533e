/* Cells, steps and faces of a field. */
#include "osu-extensions/halo/shape.h"

#include <errno.h>
#include <string.h>

/* Cells of a dimension, by the number of dimensions: at least, at most. */
static const struct {
    uint32_t least;
    uint32_t most;
} limits[1 + MGDS_HALO_DIMS] = {{0, 0}, {4, 4}, {2, 1024}, {2, 64}};

static uint64_t cells_of_face(uint32_t cells, int dims)
{
    return dims == 1 ? 1 : dims == 2 ? cells : (uint64_t)cells * cells;
}

/* As many cells as the face can be shared out to, in powers of two. */
static uint32_t cells_choose(int dims, uint64_t elements)
{
    uint32_t cells = limits[dims].most;

    while (cells > limits[dims].least &&
           elements % cells_of_face(cells, dims) != 0)
        cells /= 2;
    return cells;
}

/* The layer with this index in dimension d, own cells of the others. */
static void layer(const struct mgds_halo_args *a, uint32_t d, uint32_t index,
                  struct mgds_halo_face *face)
{
    uint32_t others = 0;

    *face = (struct mgds_halo_face){.at = index * a->step[d],
                                    .outer = 1,
                                    .inner = 1,
                                    .run = (uint32_t)a->step[a->dims - 1]};
    for (uint32_t k = 0; k < a->dims; k++) {
        if (k == d)
            continue;
        face->at += a->step[k];
        if (a->dims == MGDS_HALO_DIMS && others++ == 0) {
            face->outer = a->cells[k];
            face->outer_step = a->step[k];
        } else {
            face->inner = a->cells[k];
            face->inner_step = a->step[k];
        }
    }
}

int mgds_halo_in_a_row(const struct mgds_halo_face *face)
{
    return face->outer == 1 &&
           (face->inner == 1 || face->inner_step == face->run);
}

static void faces_fill(struct mgds_halo_args *a, unsigned neighbours)
{
    for (uint32_t d = 0; d < a->dims; d++) {
        struct mgds_halo_face *edge = &a->edge[2 * (size_t)d];
        struct mgds_halo_face *ghost = &a->ghost[2 * (size_t)d];

        layer(a, d, 1, &edge[MGDS_HALO_LOWER]);
        layer(a, d, 0, &ghost[MGDS_HALO_LOWER]);
        layer(a, d, a->cells[d], &edge[MGDS_HALO_UPPER]);
        layer(a, d, a->cells[d] + 1, &ghost[MGDS_HALO_UPPER]);
    }
    for (uint32_t f = 0; f < 2 * a->dims; f++) {
        if (!mgds_halo_in_a_row(&a->edge[f]))
            a->strided |= neighbours & 1u << f;
    }
}

int mgds_halo_shape(struct mgds_halo_args *args, int dims, size_t bytes,
                    unsigned neighbours)
{
    uint64_t elements = bytes / sizeof(uint64_t);
    uint32_t cells = cells_choose(dims, elements);
    uint64_t step = elements / cells_of_face(cells, dims);

    if (elements == 0 || elements > UINT32_MAX ||
        bytes % sizeof(uint64_t) != 0 ||
        elements % cells_of_face(cells, dims) != 0)
        return -EINVAL;
    memset(args, 0, sizeof(*args));
    args->dims = (uint32_t)dims;
    args->elements = (uint32_t)elements;
    for (int k = dims - 1; k >= 0; k--) {
        args->cells[k] = cells;
        args->step[k] = step;
        step *= cells + 2;
    }
    faces_fill(args, neighbours);
    return 0;
}

size_t mgds_halo_elements(const struct mgds_halo_args *args)
{
    return (size_t)args->step[0] * (args->cells[0] + 2);
}
