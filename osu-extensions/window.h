/* Callbacks of the bandwidth benchmarks: windows of messages in flight. */
#ifndef MGDS_BENCH_WINDOW_H
#define MGDS_BENCH_WINDOW_H

#include "osu-extensions/bench.h"

/* Sends a window and waits for the answer; receives one and answers. */
void mgds_bench_window_send(const struct mgds_bench_lap *lap);
void mgds_bench_window_recv(const struct mgds_bench_lap *lap);

/* Both at once, no answer: each window is the other's. */
void mgds_bench_window_exchange(const struct mgds_bench_lap *lap);

/* 10^6 bytes a second of all pairs, one way; and both ways. */
double mgds_bench_one_way_rate(const struct mgds_bench_shape *shape,
                               double seconds);
double mgds_bench_both_ways_rate(const struct mgds_bench_shape *shape,
                                 double seconds);

#endif
