/* The GPU kinds of memory, through the CUDA driver's API. */
#include "osu-extensions/gpu.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "osu-extensions/libcuda.h"
#include "osu-extensions/release.h"
#include "osu-extensions/stats.h"
#include "shim/gds/cuda/driver_abi.h"

/* Copies timed for a cost: enough for a median, few bytes in all. */
#define COPIES_MOST 200
#define COPIES_LEAST 11
#define COPIES_BYTES ((size_t)256 << 20)
#define COPIES_WARM 5

static struct {
#define X(name, version, need, params) CUresult(*name) params;
#include "osu-extensions/gpu.def"
#undef X
} cu;

static CUstream stream; /* of our copies; NULL: no device is open */
static int device;

static int to_errno(CUresult rc)
{
    if (rc == CUDA_SUCCESS)
        return 0;
    return rc == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

static int table_fill(char why[256])
{
    enum { SPARE, NEEDED };
    void *found;

#define X(name, version, need, params)                                         \
    found = need == NEEDED ? mgds_libcuda_need(#name, version, why)            \
                           : mgds_libcuda_find(#name, version);                \
    if (!found && need == NEEDED)                                              \
        return -ENODEV;                                                        \
    memcpy(&cu.name, &found, sizeof(found));
#include "osu-extensions/gpu.def"
#undef X
    return 0;
}

static int failed(CUresult rc, const char *what, char why[256])
{
    const char *name = "?";

    if (rc == CUDA_SUCCESS)
        return 0;
    cu.cuGetErrorName(rc, &name);
    snprintf(why, 256,
             "%s: %.100s: see nvidia-smi whether the driver and the GPU are "
             "well",
             what, name);
    return -EIO;
}

static int device_choose(int wanted, int local_rank, char why[256])
{
    int count = 0;
    CUresult rc = cu.cuInit(0);

    if (rc == CUDA_SUCCESS)
        rc = cu.cuDeviceGetCount(&count);
    if (rc == CUDA_ERROR_NO_DEVICE || (rc == CUDA_SUCCESS && count == 0)) {
        snprintf(why, 256,
                 "the CUDA driver shows no GPU: see CUDA_VISIBLE_DEVICES, or "
                 "give H H");
        return -ENODEV;
    }
    if (failed(rc, "cuInit", why) < 0)
        return -EIO;
    if (wanted >= count) {
        snprintf(why, 256,
                 "option --gpu %d: this host has %d, give a number below %d",
                 wanted, count, count);
        return -EINVAL;
    }
    device = wanted >= 0 ? wanted : local_rank % count;
    return 0;
}

static int context_enter(char why[256])
{
    CUcontext ctx;

    if (failed(cu.cuDevicePrimaryCtxRetain(&ctx, device),
               "cuDevicePrimaryCtxRetain", why) < 0 ||
        failed(cu.cuCtxSetCurrent(ctx), "cuCtxSetCurrent", why) < 0)
        return -EIO;
    return failed(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                  "cuStreamCreate", why);
}

int mgds_bench_gpu_open(int wanted, int local_rank, char why[256])
{
    int rc = mgds_libcuda_open(why);

    if (rc == 0)
        rc = table_fill(why);
    if (rc == 0)
        rc = device_choose(wanted, local_rank, why);
    return rc < 0 ? rc : context_enter(why);
}

/* ", 580.95.05", or nothing where no kernel module says it. */
static void release_find(char *out, size_t size)
{
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    char line[256];
    char release[60];

    if (!file)
        return;
    if (fgets(line, sizeof(line), file) &&
        mgds_bench_release_parse(line, release, sizeof(release)) == 0)
        snprintf(out, size, ", %s", release);
    fclose(file);
}

void mgds_bench_gpu_facts(struct mgds_bench_gpu_facts *facts)
{
    char release[64] = "";
    int version = 0;

    memset(facts, 0, sizeof(*facts));
    if (!stream)
        return;
    facts->device = device;
    if (cu.cuDeviceGetName(facts->name, sizeof(facts->name), device) !=
        CUDA_SUCCESS)
        snprintf(facts->name, sizeof(facts->name), "unknown");
    cu.cuDriverGetVersion(&version);
    release_find(release, sizeof(release));
    snprintf(facts->driver, sizeof(facts->driver), "CUDA %d.%d%s",
             version / 1000, version % 1000 / 10, release);
}

static int copy(void *to, const void *from, size_t bytes)
{
    CUresult rc = cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)to,
                                   (CUdeviceptr)(uintptr_t)from, bytes, stream);

    if (rc == CUDA_SUCCESS)
        rc = cu.cuStreamSynchronize(stream);
    return to_errno(rc);
}

static int device_alloc(void **out, size_t bytes)
{
    CUdeviceptr ptr;
    int rc = to_errno(cu.cuMemAlloc(&ptr, bytes));

    if (rc == 0)
        *out = (void *)(uintptr_t)ptr;
    return rc;
}

static void device_free(void *at)
{
    cu.cuMemFree((CUdeviceptr)(uintptr_t)at);
}

static int managed_alloc(void **out, size_t bytes)
{
    CUdeviceptr ptr;
    int rc = to_errno(cu.cuMemAllocManaged(&ptr, bytes, CU_MEM_ATTACH_GLOBAL));

    if (rc == 0)
        *out = (void *)(uintptr_t)ptr;
    return rc;
}

/* The pages go to the device with what is in them, where a driver moves
   pages at all. */
static int managed_put(void *to, const void *from_host, size_t bytes)
{
    int rc = copy(to, from_host, bytes);

    if (rc < 0 || !cu.cuMemPrefetchAsync)
        return rc;
    if (cu.cuMemPrefetchAsync((CUdeviceptr)(uintptr_t)to, bytes, device,
                              stream) == CUDA_SUCCESS)
        rc = to_errno(cu.cuStreamSynchronize(stream));
    return rc;
}

const struct mgds_bench_memory mgds_bench_device = {
    .name = "DEVICE (D)",
    .alloc = device_alloc,
    .free = device_free,
    .put = copy,
    .get = copy,
};

/* Filled and checked by the host, where the pages are then. */
const struct mgds_bench_memory mgds_bench_managed_host = {
    .name = "MANAGED HOST (MH)",
    .alloc = managed_alloc,
    .free = device_free,
};

const struct mgds_bench_memory mgds_bench_managed_device = {
    .name = "MANAGED DEVICE (MD)",
    .alloc = managed_alloc,
    .free = device_free,
    .put = managed_put,
    .get = copy,
};

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static size_t copies_of(size_t bytes)
{
    size_t copies = COPIES_BYTES / bytes;

    if (copies > COPIES_MOST)
        return COPIES_MOST;
    return copies > COPIES_LEAST ? copies : COPIES_LEAST;
}

static int copies_time(void *to, const void *from, size_t bytes, double *median)
{
    double samples[COPIES_MOST];
    size_t copies = copies_of(bytes);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < COPIES_WARM; i++)
        rc = copy(to, from, bytes);
    for (size_t i = 0; rc == 0 && i < copies; i++) {
        double start = now_us();

        rc = copy(to, from, bytes);
        samples[i] = now_us() - start;
    }
    if (rc < 0)
        return rc;
    mgds_bench_samples_sort(samples, copies);
    *median = mgds_bench_samples_percentile(samples, copies, 50);
    return 0;
}

int mgds_bench_gpu_copy_cost(struct mgds_bench_copy_cost *cost, size_t bytes)
{
    void *pinned;
    void *on_device;
    int rc;

    *cost = (struct mgds_bench_copy_cost){0, 0};
    if (bytes == 0)
        return 0;
    rc = to_errno(cu.cuMemHostAlloc(&pinned, bytes, 0));
    if (rc < 0)
        return rc;
    rc = device_alloc(&on_device, bytes);
    if (rc < 0)
        goto free_pinned;
    memset(pinned, 0, bytes);
    rc = copies_time(on_device, pinned, bytes, &cost->h2d_us);
    if (rc == 0)
        rc = copies_time(pinned, on_device, bytes, &cost->d2h_us);
    device_free(on_device);
free_pinned:
    cu.cuMemFreeHost(pinned);
    return rc;
}
