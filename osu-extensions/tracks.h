/*
 * The ways that a run measures side by side, each with what it needs: MPI
 * first, then the rivals that were asked for and are here.
 */
#ifndef MGDS_BENCH_TRACKS_H
#define MGDS_BENCH_TRACKS_H

#include "osu-extensions/world.h"

/*
 * Opens the tracks of a program that enqueues, on all ranks of end->comm. A
 * rival that cannot be had is left out on all of them; rank 0 has the reason.
 * Returns 0 or negative errno, the same on all ranks, undone by close.
 */
int mgds_bench_tracks_open(struct mgds_bench_end *end,
                           const struct mgds_bench_options *options,
                           const struct mgds_bench_need *need);
void mgds_bench_tracks_close(struct mgds_bench_end *end);

/* What end runs from here on; its way, lane and buffers are that track's. */
void mgds_bench_tracks_use(struct mgds_bench_end *end, int track);

#endif
