/* A libcuda.so.1 that says yes to everything and does nothing: enough for the
 * harness to start, so that the harness can be tested by itself. */
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))

static __thread CUcontext now;
static int context, stream;

static CUresult succeed(void)
{
    return CUDA_SUCCESS;
}

static CUresult one(int *value)
{
    *value = 1;
    return CUDA_SUCCESS;
}

static CUresult version(int *value)
{
    *value = 13000;
    return CUDA_SUCCESS;
}

static CUresult name(char *text, int size, CUdevice device)
{
    (void)device;
    strncpy(text, "stub", (size_t)size);
    return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *ctx, CUdevice device)
{
    (void)device;
    *ctx = (CUcontext)&context;
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext ctx)
{
    now = ctx;
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *ctx)
{
    *ctx = now;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *ctx)
{
    *ctx = now;
    now = NULL;
    return CUDA_SUCCESS;
}

static CUresult host_alloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    *at = calloc(1, bytes);
    return *at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult stream_create(CUstream *out, unsigned flags)
{
    (void)flags;
    *out = (CUstream)&stream;
    return CUDA_SUCCESS;
}

static CUresult error_name(CUresult code, const char **text)
{
    *text = code ? "CUDA_ERROR" : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}

static const struct {
    const char *symbol;
    void *function;
} rows[] = {
    {"cuDriverGetVersion", (void *)version},
    {"cuDeviceGetCount", (void *)one},
    {"cuDeviceGetName", (void *)name},
    {"cuDeviceGetAttribute", (void *)one},
    {"cuDeviceGet", (void *)one},
    {"cuDevicePrimaryCtxRetain", (void *)retain},
    {"cuCtxSetCurrent", (void *)set_current},
    {"cuCtxGetCurrent", (void *)get_current},
    {"cuCtxPopCurrent", (void *)pop},
    {"cuMemHostAlloc", (void *)host_alloc},
    {"cuStreamCreate", (void *)stream_create},
    {"cuGetErrorName", (void *)error_name},
};

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **found,
                                    int wanted, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *status)
{
    (void)wanted;
    (void)flags;
    (void)status;
    if (strcmp(symbol, "cuIpcGetEventHandle") == 0)
        return CUDA_ERROR_NOT_FOUND;
    *found = (void *)succeed;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(symbol, rows[i].symbol) == 0)
            *found = rows[i].function;
    return CUDA_SUCCESS;
}
