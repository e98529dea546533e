/* Callbacks of the latency benchmarks. */
#ifndef MGDS_BENCH_PINGPONG_H
#define MGDS_BENCH_PINGPONG_H

#include "osu-extensions/bench.h"

void mgds_bench_ping(const struct mgds_bench_lap *lap);
void mgds_bench_pong(const struct mgds_bench_lap *lap);

/* Microseconds of one way, from the seconds of both. */
double mgds_bench_one_way(const struct mgds_bench_shape *shape, double seconds);

#endif
