/* The kinds of memory, each a pair of functions. */
#include "tests/lib/gpu.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/libcuda.h"

struct mgds_test_driver mgds_cu;

static CUstream stream; /* for copies and the asynchronous pool */
static int device = -1;

void mgds_test_cu_check(CUresult rc, const char *call)
{
    const char *name = "?";

    if (rc == CUDA_SUCCESS)
        return;
    mgds_cu.cuGetErrorName(rc, &name);
    fprintf(stderr, "%s: %s (%d)\n", call, name, (int)rc);
    abort();
}

/* into: a function pointer of the table. */
static int table_take(void *into, const char *name, int version, char why[256])
{
    void *found = mgds_libcuda_find(name, version);

    if (!found) {
        snprintf(why, 256, "libcuda.so.1 has no %s of CUDA %d", name, version);
        return -ENODEV;
    }
    memcpy(into, &found, sizeof(found));
    return 0;
}

static int table_fill(char why[256])
{
    int rc = 0;

#define X(name, version, params)                                               \
    rc |= table_take(&mgds_cu.name, #name, version, why);
#include "tests/lib/gpu.def"
#undef X
    return rc;
}

int mgds_test_gpu_open(int local_rank, char why[256])
{
    CUcontext ctx;
    int count = 0;
    int rc = mgds_libcuda_open(why);

    if (rc == 0)
        rc = table_fill(why);
    if (rc < 0)
        return rc;
    if (mgds_cu.cuInit(0) != CUDA_SUCCESS ||
        mgds_cu.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
        snprintf(why, 256,
                 "the CUDA driver shows no GPU; see "
                 "CUDA_VISIBLE_DEVICES and MPIX_SIM_GPUS");
        return -ENODEV;
    }
    device = local_rank % count;
    MGDS_CU(cuDevicePrimaryCtxRetain(&ctx, device));
    MGDS_CU(cuCtxSetCurrent(ctx));
    MGDS_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return device;
}

static int host_alloc(struct mgds_test_memory *m)
{
    m->at = malloc(m->bytes);
    return m->at ? 0 : -ENOMEM;
}

static void host_free(struct mgds_test_memory *m)
{
    free(m->at);
}

/* By reference: the call that stores the address is another argument. */
static int taken(struct mgds_test_memory *m, CUresult rc,
                 const CUdeviceptr *ptr)
{
    if (rc != CUDA_SUCCESS)
        return -ENOMEM;
    m->at = (char *)(uintptr_t)*ptr;
    return 0;
}

static CUdeviceptr given(const struct mgds_test_memory *m)
{
    return (CUdeviceptr)(uintptr_t)m->at;
}

static int device_alloc(struct mgds_test_memory *m)
{
    CUdeviceptr ptr = 0;

    return taken(m, mgds_cu.cuMemAlloc(&ptr, m->bytes), &ptr);
}

static void device_free(struct mgds_test_memory *m)
{
    MGDS_CU(cuMemFree(given(m)));
}

static int async_alloc(struct mgds_test_memory *m)
{
    CUdeviceptr ptr = 0;
    int rc = taken(m, mgds_cu.cuMemAllocAsync(&ptr, m->bytes, stream), &ptr);

    if (rc == 0)
        MGDS_CU(cuStreamSynchronize(stream));
    return rc;
}

static void async_free(struct mgds_test_memory *m)
{
    MGDS_CU(cuMemFreeAsync(given(m), m->stream));
    MGDS_CU(cuStreamSynchronize(m->stream));
}

static CUmemAllocationProp vmm_prop(void)
{
    CUmemAllocationProp prop;

    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    return prop;
}

static int vmm_map(struct mgds_test_memory *m, CUdeviceptr ptr)
{
    CUmemAllocationProp prop = vmm_prop();
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    if (mgds_cu.cuMemCreate(&m->handle, m->bytes, &prop, 0) != CUDA_SUCCESS)
        return -ENOMEM;
    MGDS_CU(cuMemMap(ptr, m->bytes, 0, m->handle, 0));
    MGDS_CU(cuMemSetAccess(ptr, m->bytes, &access, 1));
    return 0;
}

static int vmm_alloc(struct mgds_test_memory *m)
{
    CUmemAllocationProp prop = vmm_prop();
    CUdeviceptr ptr = 0;
    size_t unit;
    int rc;

    MGDS_CU(cuMemGetAllocationGranularity(&unit, &prop,
                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    m->bytes = (m->bytes + unit - 1) / unit * unit;
    rc = taken(m, mgds_cu.cuMemAddressReserve(&ptr, m->bytes, 0, 0, 0), &ptr);
    if (rc < 0)
        return rc;
    rc = vmm_map(m, ptr);
    if (rc < 0)
        MGDS_CU(cuMemAddressFree(ptr, m->bytes));
    return rc;
}

static void vmm_free(struct mgds_test_memory *m)
{
    MGDS_CU(cuMemUnmap(given(m), m->bytes));
    MGDS_CU(cuMemRelease(m->handle));
    MGDS_CU(cuMemAddressFree(given(m), m->bytes));
}

static int managed_alloc(struct mgds_test_memory *m)
{
    CUdeviceptr ptr = 0;

    return taken(
        m, mgds_cu.cuMemAllocManaged(&ptr, m->bytes, CU_MEM_ATTACH_GLOBAL),
        &ptr);
}

static int pinned_alloc(struct mgds_test_memory *m)
{
    void *at = NULL;
    CUresult rc =
        mgds_cu.cuMemHostAlloc(&at, m->bytes, CU_MEMHOSTALLOC_PORTABLE);

    m->at = at;
    return rc == CUDA_SUCCESS ? 0 : -ENOMEM;
}

static void pinned_free(struct mgds_test_memory *m)
{
    MGDS_CU(cuMemFreeHost(m->at));
}

static int registered_alloc(struct mgds_test_memory *m)
{
    CUresult rc;

    m->at = malloc(m->bytes);
    if (!m->at)
        return -ENOMEM;
    rc =
        mgds_cu.cuMemHostRegister(m->at, m->bytes, CU_MEMHOSTREGISTER_PORTABLE);
    if (rc == CUDA_SUCCESS)
        return 0;
    free(m->at);
    return -ENOMEM;
}

static void registered_free(struct mgds_test_memory *m)
{
    MGDS_CU(cuMemHostUnregister(m->at));
    free(m->at);
}

static const struct {
    const char *name;
    int (*alloc)(struct mgds_test_memory *m);
    void (*free)(struct mgds_test_memory *m);
} kinds[] = {
    [MGDS_TEST_HOST] = {"host", host_alloc, host_free},
    [MGDS_TEST_DEVICE] = {"device", device_alloc, device_free},
    [MGDS_TEST_ASYNC] = {"async", async_alloc, async_free},
    [MGDS_TEST_VMM] = {"vmm", vmm_alloc, vmm_free},
    [MGDS_TEST_MANAGED] = {"managed", managed_alloc, device_free},
    [MGDS_TEST_PINNED] = {"pinned", pinned_alloc, pinned_free},
    [MGDS_TEST_REGISTERED] = {"registered", registered_alloc, registered_free},
};

const char *mgds_test_kind_name(enum mgds_test_kind kind)
{
    return kinds[kind].name;
}

/* Host memory that MPI sees as the host's is written as a program would. */
static int on_host(enum mgds_test_kind kind)
{
    return kind == MGDS_TEST_HOST || kind == MGDS_TEST_PINNED ||
           kind == MGDS_TEST_REGISTERED;
}

int mgds_test_memory_alloc(struct mgds_test_memory *memory,
                           enum mgds_test_kind kind, size_t bytes)
{
    int rc;

    *memory =
        (struct mgds_test_memory){.kind = kind, .bytes = bytes ? bytes : 1};
    if (!on_host(kind)) {
        MGDS_CU(cuCtxGetCurrent(&memory->context));
        memory->stream = stream;
    }
    rc = kinds[kind].alloc(memory);
    if (rc < 0)
        fprintf(stderr, "no %zu bytes of %s memory\n", bytes, kinds[kind].name);
    return rc;
}

void mgds_test_memory_free(struct mgds_test_memory *memory)
{
    kinds[memory->kind].free(memory);
}

/* In its own context: others reach neither pools nor mapped memory. */
static void copy(const struct mgds_test_memory *memory, void *to,
                 const void *from, size_t bytes)
{
    CUstream own = memory->context ? memory->stream : stream;
    CUcontext before = NULL;

    MGDS_CU(cuCtxGetCurrent(&before));
    if (memory->context)
        MGDS_CU(cuCtxSetCurrent(memory->context));
    MGDS_CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)to,
                          (CUdeviceptr)(uintptr_t)from, bytes, own));
    MGDS_CU(cuStreamSynchronize(own));
    MGDS_CU(cuCtxSetCurrent(before));
}

void mgds_test_memory_write(struct mgds_test_memory *memory, const void *from,
                            size_t bytes)
{
    if (on_host(memory->kind))
        memcpy(memory->at, from, bytes);
    else
        copy(memory, memory->at, from, bytes);
}

void mgds_test_memory_read(const struct mgds_test_memory *memory, void *to,
                           size_t bytes)
{
    if (on_host(memory->kind))
        memcpy(to, memory->at, bytes);
    else
        copy(memory, to, memory->at, bytes);
}

void mgds_test_break_context(void)
{
    enum { BYTES = 1 << 20 };
    struct mgds_test_memory gone, to;
    void *gate;
    CUstream cu;

    if (mgds_test_memory_alloc(&gone, MGDS_TEST_VMM, BYTES) < 0 ||
        mgds_test_memory_alloc(&to, MGDS_TEST_DEVICE, BYTES) < 0)
        exit(1);
    MGDS_CU(cuMemHostAlloc(&gate, sizeof(uint32_t), 0));
    __atomic_store_n((uint32_t *)gate, 0, __ATOMIC_RELEASE);
    MGDS_CU(cuStreamCreate(&cu, CU_STREAM_NON_BLOCKING));
    MGDS_CU(cuStreamWaitValue32(cu, (CUdeviceptr)(uintptr_t)gate, 1,
                                CU_STREAM_WAIT_VALUE_GEQ));
    MGDS_CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)to.at,
                          (CUdeviceptr)(uintptr_t)gone.at, BYTES, cu));
    MGDS_CU(cuMemUnmap((CUdeviceptr)(uintptr_t)gone.at, gone.bytes));
    __atomic_store_n((uint32_t *)gate, 1, __ATOMIC_RELEASE);
    if (mgds_cu.cuStreamSynchronize(cu) != CUDA_SUCCESS)
        return;
    fputs("the context is whole\n", stderr);
    exit(1);
}
