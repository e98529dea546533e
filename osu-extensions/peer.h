/*
 * Device memory of another process, mapped into this one (CUDA IPC), and copies
 * into it. Touches libcuda.so.1. One thread.
 */
#ifndef MGDS_BENCH_PEER_H
#define MGDS_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/driver_abi.h"

/* A buffer as another process maps it: bytes to be sent there. */
struct mgds_bench_target {
    CUipcMemHandle handle;
    uint64_t offset; /* of the buffer in what the handle names */
};

/* A target here. base 0: not mapped. */
struct mgds_bench_mapping {
    CUdeviceptr base;
    CUdeviceptr at;
};

/* 0, or negative errno with a line: of the driver's calls, of memory. */
int mgds_bench_peer_find(char why[256]);
int mgds_bench_target_export(struct mgds_bench_target *target, const void *at,
                             char why[256]);
int mgds_bench_target_import(struct mgds_bench_mapping *mapping,
                             const struct mgds_bench_target *target,
                             char why[256]);
void mgds_bench_target_close(struct mgds_bench_mapping *mapping);

/* Puts a copy on the stream, a CUstream. 0 or the driver's error. */
int mgds_bench_peer_copy(CUdeviceptr to, const void *from, size_t bytes,
                         void *stream);

#endif
