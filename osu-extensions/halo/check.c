/* Compares on the host. */
#include "osu-extensions/halo/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_ARRIVED 40
#define POISON 0x5a

int mgds_halo_truth_init(struct mgds_halo_truth *truth,
                         const struct mgds_halo *h, uint64_t row, size_t steps)
{
    int rc = mgds_halo_reference_init(&truth->exchanged, h, row, steps, true);

    if (rc < 0)
        return rc;
    rc = mgds_halo_reference_init(&truth->alone, h, row, steps, false);
    if (rc < 0)
        mgds_halo_reference_fini(&truth->exchanged);
    return rc;
}

void mgds_halo_truth_fini(struct mgds_halo_truth *truth)
{
    mgds_halo_reference_fini(&truth->alone);
    mgds_halo_reference_fini(&truth->exchanged);
}

static size_t field_bytes(const struct mgds_halo *h)
{
    return mgds_halo_elements(&h->args) * sizeof(uint64_t);
}

static size_t packed_bytes(const struct mgds_halo *h)
{
    return MGDS_HALO_FACES * h->bytes;
}

/* Ghosts as they are before the first step: what is not received stays so. */
static void ghosts_pack(struct mgds_halo *h)
{
    const uint64_t *field = (const uint64_t *)(void *)h->field.view;
    uint64_t *packed = (uint64_t *)(void *)h->packed_in.view;

    for (uint32_t f = 0; f < 2 * h->args.dims; f++) {
        for (uint32_t e = 0; e < h->args.elements; e++)
            *packed++ = field[mgds_halo_place(&h->args.ghost[f], e)];
    }
}

int mgds_halo_reset(struct mgds_halo *h, uint64_t row)
{
    int rc;

    mgds_halo_fill(h, row, (uint64_t *)(void *)h->field.view);
    memset(h->packed_out.view, POISON, packed_bytes(h));
    memset(h->packed_in.view, POISON, packed_bytes(h));
    ghosts_pack(h);
    rc = mgds_bench_buffer_flush(&h->field, field_bytes(h));
    if (rc == 0)
        rc = mgds_bench_buffer_flush(&h->packed_out, packed_bytes(h));
    if (rc == 0)
        rc = mgds_bench_buffer_flush(&h->packed_in, packed_bytes(h));
    return rc;
}

/* 1 and a line for the first element that differs. */
static int compare(const struct mgds_halo *h,
                   const struct mgds_halo_variant *variant, const char *what,
                   const uint64_t *got, const uint64_t *expected,
                   size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        if (got[i] == expected[i])
            continue;
        fprintf(stderr,
                "osu_halo_enqueue: rank %d: %s: wrong value: size %zu, element "
                "%zu of %s, expected %016" PRIx64 ", got %016" PRIx64 "\n",
                h->world.rank, variant->title, h->bytes, i, what, expected[i],
                got[i]);
        return 1;
    }
    return 0;
}

/* As the host sees what the GPU has at `at`. */
static char *view_of(const struct mgds_halo *h, const char *at, int f,
                     const struct mgds_bench_buffer *packed)
{
    const struct mgds_bench_buffer *buffer =
        h->args.strided >> f & 1 ? packed : &h->field;

    return buffer->view + (at - buffer->at);
}

static int face_compare(const struct mgds_halo *h,
                        const struct mgds_halo_variant *variant, int f,
                        uint64_t *theirs)
{
    const char *out = view_of(h, mgds_halo_out(h, f), f, &h->packed_out);
    const char *in = view_of(h, mgds_halo_in(h, f ^ 1), f ^ 1, &h->packed_in);
    int bytes = (int)h->bytes;

    /* All ranks send the same way at a time, so that each has a partner that
     * receives; an end of the grid has none. */
    MPI_Sendrecv(out, bytes, MPI_BYTE, h->neighbour[f], TAG_ARRIVED, theirs,
                 bytes, MPI_BYTE, h->neighbour[f ^ 1], TAG_ARRIVED,
                 h->world.comm, MPI_STATUS_IGNORE);
    if (h->neighbour[f ^ 1] == MPI_PROC_NULL)
        return 0;
    return compare(h, variant, "the face that arrived last",
                   (const uint64_t *)(const void *)in, theirs,
                   h->args.elements);
}

static int arrived_wrong(const struct mgds_halo *h,
                         const struct mgds_halo_variant *variant)
{
    uint64_t *theirs = malloc(h->bytes);
    int wrong = 0;

    if (!theirs)
        MPI_Abort(h->world.comm, 1);
    for (int f = 0; f < 2 * (int)h->args.dims; f++)
        wrong += face_compare(h, variant, f, theirs);
    free(theirs);
    return wrong;
}

static void all_fetch(struct mgds_halo *h)
{
    int rc = mgds_bench_buffer_fetch(&h->field, field_bytes(h));

    if (rc == 0)
        rc = mgds_bench_buffer_fetch(&h->packed_out, packed_bytes(h));
    if (rc == 0)
        rc = mgds_bench_buffer_fetch(&h->packed_in, packed_bytes(h));
    mgds_halo_must(h, rc, "the field");
}

bool mgds_halo_wrong(struct mgds_halo *h,
                     const struct mgds_halo_variant *variant,
                     const struct mgds_halo_truth *truth)
{
    const struct mgds_halo_reference *expected =
        variant->alone ? &truth->alone : &truth->exchanged;
    int wrong, sum;

    all_fetch(h);
    if (variant->unordered)
        wrong = arrived_wrong(h, variant);
    else
        wrong = compare(h, variant, "the field",
                        (const uint64_t *)(const void *)h->field.view,
                        expected->field, expected->elements);
    MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, h->world.comm);
    return sum != 0;
}
