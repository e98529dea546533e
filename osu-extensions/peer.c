/* Handles of device memory, there and here. */
#include "osu-extensions/peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "osu-extensions/libcuda.h"

#define LAZY_PEER_ACCESS 1

static struct {
#define X(name, version, params) CUresult(*name) params;
#include "osu-extensions/copy.def"
#undef X
} cu;

int mgds_bench_peer_find(char why[256])
{
    int rc = mgds_libcuda_open(why);
    void *found;

    if (rc < 0)
        return rc;
#define X(name, version, params)                                               \
    found = mgds_libcuda_need(#name, version, why);                            \
    if (!found)                                                                \
        return -ENOSYS;                                                        \
    memcpy(&cu.name, &found, sizeof(found));
#include "osu-extensions/copy.def"
#undef X
    return 0;
}

static int failed(CUresult rc, const char *call, char why[256])
{
    if (rc == CUDA_SUCCESS)
        return 0;
    snprintf(why, 256,
             "%s: CUDA error %d: the ranks' GPUs cannot map each other's "
             "memory here",
             call, (int)rc);
    return -EIO;
}

int mgds_bench_target_export(struct mgds_bench_target *target, const void *at,
                             char why[256])
{
    CUdeviceptr ptr = (CUdeviceptr)(uintptr_t)at;
    CUdeviceptr base = 0;
    size_t bytes;

    if (failed(cu.cuMemGetAddressRange(&base, &bytes, ptr),
               "cuMemGetAddressRange", why) < 0)
        return -EIO;
    target->offset = ptr - base;
    return failed(cu.cuIpcGetMemHandle(&target->handle, base),
                  "cuIpcGetMemHandle", why);
}

int mgds_bench_target_import(struct mgds_bench_mapping *mapping,
                             const struct mgds_bench_target *target,
                             char why[256])
{
    int rc = failed(
        cu.cuIpcOpenMemHandle(&mapping->base, target->handle, LAZY_PEER_ACCESS),
        "cuIpcOpenMemHandle", why);

    if (rc == 0)
        mapping->at = mapping->base + target->offset;
    return rc;
}

void mgds_bench_target_close(struct mgds_bench_mapping *mapping)
{
    if (mapping->base)
        cu.cuIpcCloseMemHandle(mapping->base);
    mapping->base = 0;
}

int mgds_bench_peer_copy(CUdeviceptr to, const void *from, size_t bytes,
                         void *stream)
{
    return (int)cu.cuMemcpyAsync(to, (CUdeviceptr)(uintptr_t)from, bytes,
                                 stream);
}
