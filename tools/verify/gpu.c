/* Trying a GPU with a port; see gpu.h. */
#include "tools/verify/gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/dmabuf.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/hostmap.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/cuda/memop.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/cuda/result.h"
#include "shim/gds/cuda/stream.h"
#include "shim/gds/hca/loopback.h"

enum { BYTES = 65536, DATA = 3000, BACK = 8192 };

struct mgds_verify_gpu {
    struct mgds_context *ctx;
    void *stream;
    void *memory; /* BYTES, of the GPU */
    int dmabuf;   /* or -1 */
    struct mgds_pci pci;
};

/* The program starts CUDA, for the doors of the library never do. */
static bool start_cuda(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, "cuInit") : NULL;
    CUresult (*init)(unsigned flags);
    CUcontext primary;

    memcpy(&init, &found, sizeof(init));
    return init && init(0) == CUDA_SUCCESS && mgds_presence_scan() &&
           mgds_driver() &&
           mgds_driver()->cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS;
}

static int attribute_of(CUdevice_attribute attribute)
{
    int value = 0;

    mgds_cu(mgds_driver()->cuDeviceGetAttribute(&value, attribute, 0));
    return value;
}

static void find_pci(struct mgds_verify_gpu *gpu)
{
    char folder[64];

    snprintf(folder, sizeof(folder), "bus/pci/devices/%04x:%02x:%02x.0",
             (unsigned)attribute_of(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
             (unsigned)attribute_of(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
             (unsigned)attribute_of(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    mgds_pci_read(&gpu->pci, "/sys", folder);
}

static bool open_gpu(struct mgds_verify_gpu *gpu)
{
    if (mgds_context_of_device(&gpu->ctx, 0) < 0 ||
        mgds_stream_create(&gpu->stream, gpu->ctx) < 0 ||
        mgds_trial_alloc(&gpu->memory, gpu->ctx, BYTES) < 0)
        return false;
    if (mgds_dmabuf_export(&gpu->dmabuf, gpu->ctx, gpu->memory, BYTES) < 0)
        gpu->dmabuf = -1;
    find_pci(gpu);
    return true;
}

struct mgds_verify_gpu *mgds_verify_gpu_open(void)
{
    struct mgds_verify_gpu *gpu = calloc(1, sizeof(*gpu));

    if (!gpu)
        return NULL;
    gpu->dmabuf = -1;
    if (start_cuda() && open_gpu(gpu))
        return gpu;
    mgds_verify_gpu_close(gpu);
    return NULL;
}

void mgds_verify_gpu_close(struct mgds_verify_gpu *gpu)
{
    if (!gpu)
        return;
    if (gpu->dmabuf >= 0)
        close(gpu->dmabuf);
    if (gpu->memory)
        mgds_trial_free(gpu->ctx, gpu->memory);
    if (gpu->stream)
        mgds_stream_destroy(gpu->stream, gpu->ctx);
    if (gpu->ctx)
        mgds_context_put(gpu->ctx);
    free(gpu);
}

const struct mgds_pci *mgds_verify_gpu_pci(const struct mgds_verify_gpu *gpu)
{
    return &gpu->pci;
}

static int copy_out(const struct mgds_verify_gpu *gpu, void *out)
{
    const struct mgds_copy copy = {
        .dst = out, .src = gpu->memory, .width = DATA, .rows = 1, .planes = 1};
    int done, rc = mgds_context_enter(gpu->ctx);

    if (rc < 0)
        return rc;
    rc = mgds_copy_async(&copy, gpu->stream);
    mgds_context_leave();
    while (rc == 0 && (done = mgds_stream_query(gpu->stream)) <= 0) {
        if (done < 0)
            return done;
        sched_yield();
    }
    return rc;
}

static bool compare(struct mgds_loopback *loop, const char *what)
{
    const uint8_t *sent = loop->a.memory, *found = loop->a.memory + BACK;

    for (unsigned i = 0; i < DATA; i++)
        if (found[i] != sent[i])
            return mgds_loopback_fail(loop, "byte %u %s is 0x%02x, not 0x%02x",
                                      i, what, found[i], sent[i]);
    return true;
}

static bool write_and_read(struct mgds_loopback *loop,
                           const struct mgds_verify_gpu *gpu,
                           const struct mgds_region *region)
{
    const struct mgds_wqe_path path = mgds_loopback_path(loop);
    const struct mgds_wqe_remote there = {(uintptr_t)gpu->memory, region->rkey};
    int rc;

    for (unsigned i = 0; i < DATA; i++)
        loop->a.memory[i] = (uint8_t)(i * 7 + 1);
    mgds_loopback_post(loop,
                       mgds_wqe_write(path, MGDS_WQE_CE_ALWAYS, there,
                                      mgds_loopback_local(loop, 0, DATA)));
    mgds_loopback_ring(loop);
    if (!mgds_loopback_expect_done(loop))
        return false;
    rc = copy_out(gpu, loop->a.memory + BACK);
    if (rc < 0)
        return mgds_loopback_fail(loop, "a copy of the driver: %s",
                                  strerror(-rc));
    if (!compare(loop, "in memory of the GPU"))
        return false;
    memset(loop->a.memory + BACK, 0, DATA);
    mgds_loopback_post(loop,
                       mgds_wqe_read(path, MGDS_WQE_CE_ALWAYS, there,
                                     mgds_loopback_local(loop, BACK, DATA)));
    mgds_loopback_ring(loop);
    return mgds_loopback_expect_done(loop) && compare(loop, "that was read");
}

static bool reach_memory(struct mgds_loopback *loop,
                         const struct mgds_verify_gpu *gpu)
{
    const struct mgds_region_memory memory = {.address = (uintptr_t)gpu->memory,
                                              .bytes = BYTES,
                                              .gpu = true,
                                              .dmabuf = gpu->dmabuf};
    struct mgds_refusal refusal;
    struct mgds_region region;
    bool well;

    if (mgds_region_init(&region, loop->rail, &memory, &refusal) < 0)
        return mgds_loopback_fail_refused(loop, &refusal);
    well = write_and_read(loop, gpu, &region);
    mgds_region_fini(&region);
    return well;
}

static bool fail_mapping(struct mgds_loopback *loop, int rc)
{
    return mgds_loopback_fail(
        loop, "the driver maps no doorbell (%s)%s", strerror(-rc),
        rc == -EPERM ? ": load nvidia with "
                       "NVreg_RegistryDwords=\"PeerMappingOverride=1;\""
                     : "");
}

static bool ring_mapped(struct mgds_loopback *loop,
                        const struct mgds_verify_gpu *gpu,
                        const struct mgds_hostmap *record,
                        const struct mgds_hostmap *doorbell)
{
    const uint64_t word = UINT64_C(0x1122334455667788);
    struct mgds_memop_bell bell = {.record = record->at,
                                   .doorbell = doorbell->at};
    struct mgds_sendq_bell lent;
    int rc;

    mgds_loopback_post(loop,
                       mgds_wqe_write_inline(
                           mgds_loopback_path(loop), MGDS_WQE_CE_ALWAYS,
                           mgds_loopback_remote(loop, 0), &word, sizeof(word)));
    lent = mgds_sendq_lend(loop->a.queue);
    bell.record_value = lent.record;
    bell.doorbell_value = lent.doorbell;
    rc = mgds_context_enter(gpu->ctx);
    if (rc == 0) {
        rc = mgds_memop_ring(gpu->stream, &bell);
        mgds_context_leave();
    }
    if (rc < 0)
        return mgds_loopback_fail(loop, "no memory operations: %s",
                                  strerror(-rc));
    return mgds_loopback_await_word(loop, mgds_loopback_word(&loop->b, 0),
                                    word) &&
           mgds_loopback_expect_done(loop);
}

static bool ring_by_stream(struct mgds_loopback *loop,
                           const struct mgds_verify_gpu *gpu)
{
    const struct mgds_sendq *queue = loop->a.queue;
    struct mgds_hostmap record, doorbell;
    bool well = false;
    int rc;

    if (mgds_memop_width(gpu->ctx) != 64)
        return mgds_loopback_fail(loop, "no memory operations of 64 bits");
    rc = mgds_hostmap_init(&record, gpu->ctx, queue->record,
                           sizeof(*queue->record), false);
    if (rc < 0)
        return fail_mapping(loop, rc);
    rc = mgds_hostmap_init(&doorbell, gpu->ctx, queue->doorbell,
                           sizeof(*queue->doorbell), true);
    if (rc < 0) {
        fail_mapping(loop, rc);
    } else {
        well = ring_mapped(loop, gpu, &record, &doorbell);
        mgds_hostmap_fini(&doorbell, gpu->ctx);
    }
    mgds_hostmap_fini(&record, gpu->ctx);
    return well;
}

static const struct {
    const char *name;
    const char *promise;
    bool (*run)(struct mgds_loopback *loop, const struct mgds_verify_gpu *gpu);
} rows[] = {
    {"gpu", "data reaches memory of the GPU, and comes back", reach_memory},
    {"bell", "a stream of the GPU rings the doorbell", ring_by_stream},
};

unsigned mgds_verify_gpu_run(struct mgds_verify_gpu *gpu,
                             struct mgds_rail *rail, mgds_selftest_fn tell,
                             void *arg)
{
    unsigned failures = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mgds_loopback loop;
        bool well = mgds_loopback_open(&loop, rail) && rows[i].run(&loop, gpu);

        mgds_loopback_close(&loop);
        tell(arg, rows[i].name, rows[i].promise, well ? NULL : loop.failure);
        failures += !well;
    }
    return failures;
}
