/* A libcuda.so.1 that answers what a test has scripted: for old, broken and
 * foreign drivers, and for failures. It runs nothing; behaviour is tested on
 * the software GPU. */
#include "tests/unit/fake_cuda.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define COUNT(what) __atomic_fetch_add(&fake_script.what, 1, __ATOMIC_RELAXED)

EXPORT extern struct fake_cuda fake_script;
EXPORT extern unsigned fake_depth(void);
EXPORT extern CUcontext fake_top(void);
EXPORT extern void fake_set_top(CUcontext ctx);
EXPORT extern CUresult cuInit(unsigned flags);
EXPORT extern CUresult cuDriverGetVersion(int *version);

struct fake_cuda fake_script = {.version = 13000, .devices = 1};

enum { STACK = 16 };
static _Thread_local CUcontext stack[STACK];
static _Thread_local unsigned depth;

unsigned fake_depth(void)
{
    return depth;
}

CUcontext fake_top(void)
{
    return depth ? stack[depth - 1] : NULL;
}

void fake_set_top(CUcontext ctx)
{
    depth = ctx != NULL;
    stack[0] = ctx;
}

static struct fake_context *find_context(CUcontext handle)
{
    for (int i = 0; i < FAKE_CONTEXTS; i++) {
        if (handle && fake_script.contexts[i].handle == handle)
            return &fake_script.contexts[i];
    }
    return NULL;
}

static bool find_block(struct fake_block *out, uintptr_t addr)
{
    for (int i = 0; i < FAKE_BLOCKS; i++) {
        const struct fake_block *block = &fake_script.blocks[i];

        if (addr - block->base < block->size) {
            *out = *block;
            return true;
        }
    }
    return fake_script.further && fake_script.further(out, addr);
}

CUresult cuInit(unsigned flags)
{
    (void)flags;
    COUNT(inits);
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = fake_script.version;
    return fake_script.version_result;
}

static CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    memset(uuid, device, sizeof(*uuid));
    return CUDA_SUCCESS;
}

static CUresult cuDeviceGetCount(int *count)
{
    *count = fake_script.devices;
    return fake_script.count_result;
}

static CUresult cuGetErrorName(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_UNKNOWN ? "FAKE_UNKNOWN" : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_UNKNOWN ? "the fake does not know" : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult cuCtxPushCurrent(CUcontext ctx)
{
    if (!find_context(ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = ctx;
    return CUDA_SUCCESS;
}

static CUresult cuCtxPopCurrent(CUcontext *ctx)
{
    if (depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    *ctx = stack[--depth];
    return CUDA_SUCCESS;
}

static CUresult cuCtxGetCurrent(CUcontext *ctx)
{
    *ctx = fake_top();
    return CUDA_SUCCESS;
}

static CUresult cuCtxGetDevice(CUdevice *device)
{
    struct fake_context *ctx = find_context(fake_top());

    if (!ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = ctx->device;
    return CUDA_SUCCESS;
}

static CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    struct fake_context *ctx = find_context(handle);

    if (!ctx)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = ctx->id;
    return CUDA_SUCCESS;
}

static CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                           int *active)
{
    if (device < 0 || device >= fake_script.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = fake_script.primary != NULL;
    return CUDA_SUCCESS;
}

static CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
    (void)device;
    *ctx = fake_script.primary;
    __atomic_fetch_add(&fake_script.primary_held, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

static CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    __atomic_fetch_sub(&fake_script.primary_held, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

static uint64_t attribute_of(const struct fake_block *block,
                             CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return block->type;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return block->managed;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return (uintptr_t)block->ctx;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return (uint32_t)block->device;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return block->id;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return block->base;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return block->size;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return block->legacy_ipc;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return block->handle_types;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return block->pool;
    default:
        abort();
    }
}

static size_t width_of(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return 1;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return 4;
    default:
        return 8;
    }
}

static CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                      CUdeviceptr ptr)
{
    struct fake_block block;
    uint64_t value;

    COUNT(asked_one);
    if (fake_script.query_result != CUDA_SUCCESS)
        return fake_script.query_result;
    if (!find_block(&block, ptr))
        return CUDA_ERROR_INVALID_VALUE;
    value = attribute_of(&block, attribute);
    memcpy(data, &value, width_of(attribute));
    return CUDA_SUCCESS;
}

static CUresult cuPointerSetAttribute(const void *value,
                                      CUpointer_attribute attribute,
                                      CUdeviceptr ptr)
{
    struct fake_block block;

    (void)value;
    (void)attribute;
    return find_block(&block, ptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The narrow ones are written as narrow as the driver may write them. */
static CUresult cuPointerGetAttributes(unsigned count,
                                       CUpointer_attribute *attributes,
                                       void **data, CUdeviceptr ptr)
{
    struct fake_block block;

    COUNT(asked_all);
    if (fake_script.query_result != CUDA_SUCCESS)
        return fake_script.query_result;
    if (!find_block(&block, ptr))
        block = (struct fake_block){.device = CU_DEVICE_INVALID};
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = attribute_of(&block, attributes[i]);

        memcpy(data[i], &value, width_of(attributes[i]));
    }
    return CUDA_SUCCESS;
}

static CUresult cuMemAlloc(CUdeviceptr *ptr, size_t bytes)
{
    *ptr = (CUdeviceptr)(uintptr_t)malloc(bytes);
    return *ptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult cuMemFree(CUdeviceptr ptr)
{
    free((void *)(uintptr_t)ptr);
    return CUDA_SUCCESS;
}

static CUresult cuMemHostRegister(void *ptr, size_t bytes, unsigned flags)
{
    fake_script.page = ptr;
    fake_script.page_bytes = bytes;
    return flags & CU_MEMHOSTREGISTER_IOMEMORY ? fake_script.io_result
                                               : fake_script.alloc_result;
}

/* A GPU calls host memory by other names here. */
static CUresult cuMemHostGetDevicePointer(CUdeviceptr *at, void *ptr,
                                          unsigned flags)
{
    (void)flags;
    *at = (uintptr_t)ptr + FAKE_FAR;
    return fake_script.far_result;
}

static CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr,
                                              size_t bytes,
                                              CUmemRangeHandleType type,
                                              unsigned long long flags)
{
    (void)type;
    (void)flags;
    fake_script.page = (void *)(uintptr_t)ptr;
    fake_script.page_bytes = bytes;
    *(int *)handle = 77;
    return fake_script.export_result;
}

static CUresult cuMemHostUnregister(void *ptr)
{
    (void)ptr;
    COUNT(hosts_freed);
    return CUDA_SUCCESS;
}

static CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                              CUstream stream)
{
    (void)dst;
    (void)src;
    (void)stream;
    COUNT(lines);
    fake_script.line = bytes;
    return CUDA_SUCCESS;
}

static CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    (void)stream;
    COUNT(planes);
    fake_script.plane = *copy;
    return CUDA_SUCCESS;
}

static CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value,
                                size_t bytes, CUstream stream)
{
    (void)dst;
    (void)value;
    (void)bytes;
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
    struct fake_block block;
    uint64_t words[sizeof(*handle) / sizeof(uint64_t)] = {0};

    COUNT(told);
    if (fake_script.tell_result != CUDA_SUCCESS)
        return fake_script.tell_result;
    if (!find_context(fake_top()) || !find_block(&block, ptr))
        return CUDA_ERROR_INVALID_VALUE;
    words[0] = block.base;
    words[1] = fake_script.names_repeat ? 0 : block.id;
    memcpy(handle, words, sizeof(*handle));
    return CUDA_SUCCESS;
}

static CUresult cuIpcOpenMemHandle(CUdeviceptr *ptr, CUipcMemHandle handle,
                                   unsigned flags)
{
    (void)handle;
    if (!find_context(fake_top()) || !fake_script.opens_at ||
        flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_script.opening)
        fake_script.opening();
    if (fake_script.open_result != CUDA_SUCCESS)
        return fake_script.open_result;
    COUNT(opened);
    *ptr = fake_script.opens_at;
    return CUDA_SUCCESS;
}

static CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
    if (!find_context(fake_top()) || ptr != fake_script.opens_at)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_script.closing)
        fake_script.closing();
    COUNT(closed);
    return CUDA_SUCCESS;
}

static CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    (void)stream;
    COUNT(cubes);
    fake_script.cube = *copy;
    return CUDA_SUCCESS;
}

static CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    if (!find_context(fake_top()) || flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_CONTEXT;
    *stream = (CUstream)(uintptr_t)(0x1000 + 16 * COUNT(streams_made));
    return CUDA_SUCCESS;
}

static CUresult cuStreamDestroy(CUstream stream)
{
    (void)stream;
    COUNT(streams_destroyed);
    return CUDA_SUCCESS;
}

static CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
    (void)stream;
    *ctx = fake_top();
    return *ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult cuStreamIsCapturing(CUstream stream,
                                    CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return CUDA_SUCCESS;
}

static CUresult cuStreamBatchMemOp(CUstream stream, unsigned count,
                                   CUstreamBatchMemOpParams *ops,
                                   unsigned flags)
{
    (void)stream;
    (void)count;
    (void)ops;
    (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                     CUdevice device)
{
    (void)attribute;
    (void)device;
    *value = 0;
    return CUDA_SUCCESS;
}

static CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    if (!find_context(fake_top()) || !(flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_CONTEXT;
    *event = (CUevent)(uintptr_t)0x2000;
    return CUDA_SUCCESS;
}

static CUresult cuEventDestroy(CUevent event)
{
    (void)event;
    COUNT(events_destroyed);
    return CUDA_SUCCESS;
}

static CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    *can = device != peer;
    return CUDA_SUCCESS;
}

static CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    return flags || !find_context(peer) ? CUDA_ERROR_INVALID_VALUE
                                        : CUDA_SUCCESS;
}

static CUresult cuStreamWaitEvent(CUstream stream, CUevent event,
                                  unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return CUDA_SUCCESS;
}

static CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)event;
    (void)stream;
    return fake_script.event_result;
}

static CUresult cuEventQuery(CUevent event)
{
    (void)event;
    return fake_script.event_result;
}

static CUresult cuStreamQuery(CUstream stream)
{
    (void)stream;
    return fake_script.event_result;
}

static CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    return fake_script.event_result;
}

static CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    (void)module;
    (void)image;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult cuModuleUnload(CUmodule module)
{
    (void)module;
    return CUDA_SUCCESS;
}

static CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                    const char *name)
{
    (void)function;
    (void)module;
    (void)name;
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult cuLaunchKernelEx(const CUlaunchConfig *config,
                                 CUfunction function, void **params,
                                 void **extra)
{
    (void)config;
    (void)function;
    (void)params;
    (void)extra;
    return CUDA_SUCCESS;
}

EXPORT extern CUresult
cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                    cuuint64_t flags, CUdriverProcAddressQueryResult *found);

struct row {
    const char *name;
    int version;
    void (*function)(void);
};

static const struct row rows[] = {
#define X(name, version, need, params) {#name, version, (void (*)(void))name},
#include "shim/gds/cuda/driver.def"
#undef X
};

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (strcmp(symbol, "cuInit") == 0)
        __atomic_store_n(&fake_script.asked_for_init, true, __ATOMIC_RELAXED);
    if (flags != CU_GET_PROC_ADDRESS_LEGACY_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_script.missing && strcmp(symbol, fake_script.missing) == 0)
        return CUDA_ERROR_NOT_FOUND;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, symbol) != 0)
            continue;
        if (rows[i].version != version)
            __atomic_store_n(&fake_script.other_version, true,
                             __ATOMIC_RELAXED);
        memcpy(pfn, &rows[i].function, sizeof(*pfn));
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}
