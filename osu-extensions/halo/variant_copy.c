/*
 * Copies of the faces into the neighbours' memory, in no order between ranks:
 * what an exchange costs at least. A step may find faces of another step.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/halo/halo.h"
#include "osu-extensions/peer.h"

#define FIELD 0
#define PACKED 1
#define TARGETS 2

struct mgds_halo_lane {
    /* Of each face's neighbour; faces of one neighbour share a mapping. */
    struct mgds_bench_mapping mapped[MGDS_HALO_FACES][TARGETS];
    CUdeviceptr to[MGDS_HALO_FACES];
};

static int copy_find(const struct mgds_halo_options *options, char why[256])
{
    (void)options;
    return mgds_bench_peer_find(why);
}

static void copy_close(struct mgds_halo_lane *lane)
{
    for (int f = 0; f < MGDS_HALO_FACES; f++) {
        for (int t = 0; t < TARGETS; t++)
            mgds_bench_target_close(&lane->mapped[f][t]);
    }
    free(lane);
}

/* The first face with the same neighbour. */
static int first_face(const struct mgds_halo *h, int f)
{
    int first = 0;

    while (h->neighbour[first] != h->neighbour[f])
        first++;
    return first;
}

static CUdeviceptr address(const void *at)
{
    return (CUdeviceptr)(uintptr_t)at;
}

/* A process cannot map its own memory. */
static int face_map(struct mgds_halo_lane *lane, const struct mgds_halo *h,
                    int f, const struct mgds_bench_target *theirs,
                    char why[256])
{
    const char *own[TARGETS] = {h->field.at, h->packed_in.at};
    int first = first_face(h, f);
    int rc = 0;

    for (int t = 0; rc == 0 && t < TARGETS; t++) {
        struct mgds_bench_mapping *mapping = &lane->mapped[first][t];

        if (h->neighbour[f] == h->world.rank)
            mapping->at = address(own[t]);
        else if (first == f)
            rc = mgds_bench_target_import(mapping, &theirs[t], why);
    }
    if (h->args.strided >> f & 1)
        lane->to[f] =
            lane->mapped[first][PACKED].at + (uint64_t)(f ^ 1) * h->bytes;
    else
        lane->to[f] = lane->mapped[first][FIELD].at +
                      h->args.ghost[f ^ 1].at * sizeof(uint64_t);
    return rc;
}

static int faces_map(struct mgds_halo_lane *lane, const struct mgds_halo *h,
                     const struct mgds_bench_target *all, char why[256])
{
    int rc = 0;

    for (int f = 0; rc == 0 && f < 2 * (int)h->args.dims; f++) {
        if (h->neighbours >> f & 1)
            rc = face_map(lane, h, f, &all[TARGETS * (size_t)h->neighbour[f]],
                          why);
    }
    return rc;
}

static int copy_open(struct mgds_halo_lane **out, const struct mgds_halo *h,
                     char why[256])
{
    struct mgds_halo_lane *lane = calloc(1, sizeof(*lane));
    struct mgds_bench_target *all =
        calloc((size_t)h->world.ranks * TARGETS, sizeof(*all));
    struct mgds_bench_target mine[TARGETS];
    int rc;

    if (!lane || !all) {
        mgds_halo_must(h, -ENOMEM, "copies");
        free(all);
        free(lane);
        return -ENOMEM;
    }
    memset(mine, 0, sizeof(mine));
    rc = mgds_bench_target_export(&mine[FIELD], h->field.at, why);
    if (rc == 0)
        rc = mgds_bench_target_export(&mine[PACKED], h->packed_in.at, why);
    MPI_Allgather(mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE,
                  h->world.comm);
    if (rc == 0)
        rc = faces_map(lane, h, all, why);
    free(all);
    if (rc < 0) {
        copy_close(lane);
        return rc;
    }
    *out = lane;
    return 0;
}

static void copy_exchange(struct mgds_halo_lane *lane,
                          const struct mgds_halo *h)
{
    for (int f = 0; f < 2 * (int)h->args.dims; f++) {
        if (h->neighbours >> f & 1 &&
            mgds_bench_peer_copy(lane->to[f], mgds_halo_out(h, f), h->bytes,
                                 h->stream) != 0)
            mgds_halo_must(h, -EIO, "cuMemcpyAsync");
    }
}

const struct mgds_halo_variant mgds_halo_copy = {
    .name = "copy",
    .title = "plain copies",
    .unordered = true,
    .find = copy_find,
    .open = copy_open,
    .close = copy_close,
    .exchange = copy_exchange,
};
