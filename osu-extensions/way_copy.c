/*
 * Back-to-back copies into the peer's memory, mapped here: what a stream can
 * move at best. Receiving does nothing: data is there when both streams are
 * done and the ranks have told each other so.
 */
#include "osu-extensions/way.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/peer.h"

#define TAG_HANDLES 4
#define TARGETS 2 /* messages, answers */

struct mgds_bench_lane {
    CUstream stream;
    struct mgds_bench_mapping target[TARGETS];
};

static int copy_find(const struct mgds_bench_options *options, char why[256])
{
    (void)options;
    return mgds_bench_peer_find(why);
}

static void copy_close(struct mgds_bench_lane *lane)
{
    for (int i = 0; i < TARGETS; i++)
        mgds_bench_target_close(&lane->target[i]);
    free(lane);
}

/* Both ranks of a pair exchange, whatever they have found. */
static int targets_exchange(struct mgds_bench_target theirs[TARGETS],
                            const struct mgds_bench_site *site, char why[256])
{
    struct mgds_bench_target mine[TARGETS];
    int rc;

    memset(mine, 0, sizeof(mine));
    rc = mgds_bench_target_export(&mine[0], site->recv->at, why);
    if (rc == 0)
        rc = mgds_bench_target_export(&mine[1], site->answer->at, why);
    MPI_Sendrecv(mine, sizeof(mine), MPI_BYTE, site->peer, TAG_HANDLES, theirs,
                 TARGETS * sizeof(*theirs), MPI_BYTE, site->peer, TAG_HANDLES,
                 site->comm, MPI_STATUS_IGNORE);
    return rc;
}

static int copy_open(struct mgds_bench_lane **out,
                     const struct mgds_bench_site *site, char why[256])
{
    struct mgds_bench_lane *lane = calloc(1, sizeof(*lane));
    struct mgds_bench_target theirs[TARGETS];
    int rc = targets_exchange(theirs, site, why);

    if (!lane)
        return -ENOMEM;
    lane->stream = site->stream;
    for (int i = 0; rc == 0 && i < TARGETS; i++)
        rc = mgds_bench_target_import(&lane->target[i], &theirs[i], why);
    if (rc < 0)
        goto close;
    *out = lane;
    return 0;
close:
    copy_close(lane);
    return rc;
}

static void copy_to(const struct mgds_bench_lap *lap, int which, size_t offset,
                    const void *from, size_t bytes)
{
    int rc = mgds_bench_peer_copy(lap->lane->target[which].at + offset, from,
                                  bytes, lap->lane->stream);

    if (rc == 0)
        return;
    fprintf(stderr, "copy: cuMemcpyAsync: CUDA error %d\n", rc);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void copy_start_send(const struct mgds_bench_lap *lap, const void *at,
                            int index)
{
    copy_to(lap, 0, mgds_bench_lap_place(lap, index), at, lap->bytes);
}

static void copy_start_recv(const struct mgds_bench_lap *lap, void *at,
                            int index)
{
    (void)lap;
    (void)at;
    (void)index;
}

static void copy_complete(const struct mgds_bench_lap *lap, int count)
{
    (void)lap;
    (void)count;
}

static void copy_send_answer(const struct mgds_bench_lap *lap)
{
    copy_to(lap, 1, lap->number * sizeof(*lap->answer), lap->answer,
            sizeof(*lap->answer));
}

static void copy_recv_answer(const struct mgds_bench_lap *lap)
{
    (void)lap;
}

const struct mgds_bench_way mgds_bench_way_copy = {
    .name = "copy",
    .title = "Copy",
    .rival = MGDS_BENCH_RIVAL_COPY,
    .windows_only = true,
    .find = copy_find,
    .open = copy_open,
    .close = copy_close,
    .start_send = copy_start_send,
    .start_recv = copy_start_recv,
    .complete = copy_complete,
    .send_answer = copy_send_answer,
    .recv_answer = copy_recv_answer,
};
