/*
 * What the kernels of the halo benchmark are told: a field of 64-bit elements
 * with one layer of ghost cells around it, and its faces. Included by code for
 * the GPU, too.
 */
#ifndef MGDS_HALO_ARGS_H
#define MGDS_HALO_ARGS_H

#include "device/impl/mem.h"

#define MGDS_HALO_DIMS 3
#define MGDS_HALO_FACES 6

/* Face 2 d is the lower one of dimension d, face 2 d + 1 the upper one. */
#define MGDS_HALO_LOWER 0u
#define MGDS_HALO_UPPER 1u

/*
 * One layer of cells, as two loops over the other dimensions; `run` elements
 * of a cell lie in a row. All in elements, from the beginning of the field.
 */
struct mgds_halo_face {
    uint64_t at;
    uint32_t outer;
    uint32_t inner;
    uint32_t run;
    uint32_t unused;
    uint64_t outer_step;
    uint64_t inner_step;
};

struct mgds_halo_args {
    uint64_t field;  /* addresses */
    uint64_t packed; /* face f at f * elements: what is packed, or unpacked */
    uint64_t ticks;  /* that a block stays, by the clock of its processor */
    uint32_t dims;
    uint32_t elements; /* of a face; of all faces alike */
    uint32_t strided;  /* bit f: face f is packed, or unpacked */
    uint32_t unused;
    uint64_t step[MGDS_HALO_DIMS];  /* from a cell to the next, in elements */
    uint32_t cells[MGDS_HALO_DIMS]; /* without ghosts */
    uint32_t unused_too;
    struct mgds_halo_face edge[MGDS_HALO_FACES];  /* outermost own cells */
    struct mgds_halo_face ghost[MGDS_HALO_FACES]; /* the neighbours' */
};

/* Element e of a face, from the beginning of the field. */
MGDS_FN uint64_t mgds_halo_place(const struct mgds_halo_face *face, uint32_t e)
{
    uint32_t cell = e / face->run;

    return face->at + cell / face->inner * face->outer_step +
           cell % face->inner * face->inner_step + e % face->run;
}

#endif
