/* Callbacks and iterations of the benchmarks that enqueue. */
#ifndef MGDS_BENCH_ENQUEUED_H
#define MGDS_BENCH_ENQUEUED_H

#include "osu-extensions/batch.h"

/* Ping-pong, windows one way with an answer, windows both ways: as those of
 * pingpong.h and window.h, in stream order. */
void mgds_bench_enqueue_ping(const struct mgds_bench_lap *lap);
void mgds_bench_enqueue_pong(const struct mgds_bench_lap *lap);
void mgds_bench_enqueue_window_send(const struct mgds_bench_lap *lap);
void mgds_bench_enqueue_window_recv(const struct mgds_bench_lap *lap);
void mgds_bench_enqueue_window_exchange(const struct mgds_bench_lap *lap);

/*
 * Runs the iterations of a batch from `lap` on. They are put on the stream
 * while it is held, at both ends of all pairs; then all streams go. The time
 * between two events around those behind the untimed ones is shared out evenly
 * (--sync: the host waits after each, and its clock says how long it took).
 * Returns 0 or negative errno.
 */
int mgds_bench_enqueued_run(struct mgds_bench_end *end,
                            const struct mgds_bench_batch *batch,
                            struct mgds_bench_lap *lap);

#endif
