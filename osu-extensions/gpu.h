/*
 * This process's GPU: the kinds of memory that lie there, and what a copy
 * costs. Touches libcuda.so.1, opened when first asked for, and no MPI. One
 * thread.
 */
#ifndef MGDS_BENCH_GPU_H
#define MGDS_BENCH_GPU_H

#include <stddef.h>

#include "osu-extensions/memory.h"

/* Takes the number of devices' remainder of the local rank. */
#define MGDS_BENCH_GPU_BY_RANK (-1)

struct mgds_bench_gpu_facts {
    char name[128];   /* of the device; "" if none is open */
    char driver[128]; /* "CUDA 13.0, 580.95.05" */
    int device;
};

/*
 * Makes the primary context of a device current: `wanted`, or by rank.
 * Returns 0, or -ENODEV, -EINVAL or -EIO with one line in why that names what
 * is missing and the remedy.
 */
int mgds_bench_gpu_open(int wanted, int local_rank, char why[256]);

/* Of the open device. */
void mgds_bench_gpu_facts(struct mgds_bench_gpu_facts *facts);

extern const struct mgds_bench_memory mgds_bench_device;
extern const struct mgds_bench_memory mgds_bench_managed_host;
extern const struct mgds_bench_memory mgds_bench_managed_device;

/*
 * The median time of one copy of `bytes` between pinned host memory and the
 * device, from the call until the host knows that it is complete; zeros for 0
 * bytes. Returns 0 or negative errno.
 */
struct mgds_bench_copy_cost {
    double d2h_us;
    double h2d_us;
};
int mgds_bench_gpu_copy_cost(struct mgds_bench_copy_cost *cost, size_t bytes);

#endif
