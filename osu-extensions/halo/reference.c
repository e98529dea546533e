/* Cells by coordinates, one after another. */
#include "osu-extensions/halo/reference.h"

#include <errno.h>
#include <stdlib.h>

#include "osu-extensions/pattern.h"

#define TAG_REFERENCE 9

/* A field on the CPU, and room for its faces. */
struct model {
    const struct mgds_halo *h;
    uint64_t *field;
    uint64_t *out[MGDS_HALO_FACES];
    uint64_t *in[MGDS_HALO_FACES];
    size_t face; /* elements */
};

void mgds_halo_fill(const struct mgds_halo *h, uint64_t row, uint64_t *field)
{
    struct mgds_bench_pattern pattern = {
        .seed = mgds_bench_seed(row, 0, (uint64_t)h->world.rank)};

    mgds_bench_pattern_fill(pattern, field,
                            mgds_halo_elements(&h->args) * sizeof(*field));
}

static uint64_t rotated(uint64_t value, unsigned by)
{
    return value << by | value >> (64 - by);
}

/* What the lower and the upper neighbour of dimension d make of an element. */
static uint64_t stirred(uint64_t own, uint64_t theirs, int d, int upper)
{
    unsigned face = 2u * (unsigned)d + (unsigned)upper;

    own ^= rotated(theirs, 7 * face + 1);
    return own * UINT64_C(0x9E3779B97F4A7C15) + face;
}

/* Never less or more, whoever has filled it. */
static uint32_t dims_of(const struct mgds_halo_args *a)
{
    if (a->dims < 1)
        return 1;
    return a->dims < MGDS_HALO_DIMS ? a->dims : MGDS_HALO_DIMS;
}

static void cell_step(struct model *m, const uint32_t x[MGDS_HALO_DIMS])
{
    const struct mgds_halo_args *a = &m->h->args;
    size_t run = (size_t)a->step[dims_of(a) - 1];
    uint64_t *cell = m->field;

    for (uint32_t d = 0; d < dims_of(a); d++)
        cell += x[d] * a->step[d];
    for (size_t i = 0; i < run; i++) {
        for (uint32_t d = 0; d < dims_of(a); d++) {
            if (x[d] == 1)
                cell[i] = stirred(cell[i], cell[i - a->step[d]], (int)d, 0);
            if (x[d] == a->cells[d])
                cell[i] = stirred(cell[i], cell[i + a->step[d]], (int)d, 1);
        }
    }
}

/* The next cell in the order of memory; false behind the last one. */
static bool next_cell(const struct mgds_halo_args *a,
                      uint32_t x[MGDS_HALO_DIMS])
{
    for (int d = (int)dims_of(a) - 1; d >= 0; d--) {
        if (++x[d] <= a->cells[d])
            return true;
        x[d] = 1;
    }
    return false;
}

static bool at_an_end(const struct mgds_halo_args *a, const uint32_t *x,
                      uint32_t dims)
{
    for (uint32_t d = 0; d < dims; d++) {
        if (x[d] == 1 || x[d] == a->cells[d])
            return true;
    }
    return false;
}

/* In the last dimension nothing happens between the two ends of an inner
 * line. */
static void field_step(struct model *m)
{
    const struct mgds_halo_args *a = &m->h->args;
    uint32_t x[MGDS_HALO_DIMS] = {1, 1, 1};
    uint32_t last = dims_of(a) - 1;

    do {
        if (at_an_end(a, x, dims_of(a)))
            cell_step(m, x);
        if (x[last] == 1 && a->cells[last] > 2 && !at_an_end(a, x, last))
            x[last] = a->cells[last] - 1;
    } while (next_cell(a, x));
}

/* Elements of the layer `index` of dimension d, in the order of memory, to or
 * from a row. */
static void layer_copy(struct model *m, uint32_t d, uint32_t index,
                       uint64_t *row, bool put)
{
    const struct mgds_halo_args *a = &m->h->args;
    size_t run = (size_t)a->step[dims_of(a) - 1];
    struct mgds_halo_args flat = *a;
    uint32_t x[MGDS_HALO_DIMS] = {1, 1, 1};

    flat.cells[d] = 1;
    do {
        uint64_t *cell = m->field;

        for (uint32_t k = 0; k < dims_of(a); k++)
            cell += (k == d ? index : x[k]) * a->step[k];
        for (size_t i = 0; i < run; i++, row++) {
            if (put)
                cell[i] = *row;
            else
                *row = cell[i];
        }
    } while (next_cell(&flat, x));
}

/* Tags name the face of the sender: the receiver's is the opposite one. */
static void faces_exchange(struct model *m)
{
    const struct mgds_halo *h = m->h;
    MPI_Request requests[2 * MGDS_HALO_FACES];
    int faces = 2 * (int)h->args.dims;
    MPI_Status statuses[2 * MGDS_HALO_FACES];
    int bytes = (int)h->bytes;
    int count = 0;

    for (int f = 0; f < faces; f++)
        MPI_Irecv(m->in[f], bytes, MPI_BYTE, h->neighbour[f],
                  TAG_REFERENCE + (f ^ 1), h->world.comm, &requests[count++]);
    for (int f = 0; f < faces; f++) {
        uint32_t d = (uint32_t)f / 2;

        layer_copy(m, d, f % 2 ? h->args.cells[d] : 1, m->out[f], false);
        MPI_Isend(m->out[f], bytes, MPI_BYTE, h->neighbour[f],
                  TAG_REFERENCE + f, h->world.comm, &requests[count++]);
    }
    MPI_Waitall(count, requests, statuses);
    for (int f = 0; f < faces; f++) {
        uint32_t d = (uint32_t)f / 2;

        if (h->neighbour[f] != MPI_PROC_NULL)
            layer_copy(m, d, f % 2 ? h->args.cells[d] + 1 : 0, m->in[f], true);
    }
}

static void model_free(struct model *m)
{
    for (int f = 0; f < MGDS_HALO_FACES; f++) {
        free(m->in[f]);
        free(m->out[f]);
    }
}

static int model_alloc(struct model *m)
{
    for (int f = 0; f < 2 * (int)m->h->args.dims; f++) {
        m->in[f] = malloc(m->h->bytes);
        m->out[f] = malloc(m->h->bytes);
        if (!m->in[f] || !m->out[f])
            return -ENOMEM;
    }
    return 0;
}

int mgds_halo_reference_init(struct mgds_halo_reference *reference,
                             const struct mgds_halo *h, uint64_t row,
                             size_t steps, bool exchange)
{
    struct model m = {.h = h};
    size_t elements = mgds_halo_elements(&h->args);
    int rc = model_alloc(&m);

    m.field = malloc(elements * sizeof(*m.field));
    if (rc < 0 || !m.field) {
        model_free(&m);
        free(m.field);
        return -ENOMEM;
    }
    mgds_halo_fill(h, row, m.field);
    for (size_t i = 0; i < steps; i++) {
        field_step(&m);
        if (exchange)
            faces_exchange(&m);
    }
    model_free(&m);
    reference->field = m.field;
    reference->elements = elements;
    return 0;
}

void mgds_halo_reference_fini(struct mgds_halo_reference *reference)
{
    free(reference->field);
}
