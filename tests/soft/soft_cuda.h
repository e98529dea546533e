/* The driver as a program of a user would call it, for tests of the door on
 * the software GPU (or any libcuda.so.1 that is found first). */
#ifndef MGDS_TEST_SOFT_CUDA_H
#define MGDS_TEST_SOFT_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/driver_abi.h"

/* X(name in the library, parameters) */
#define SOFT_CALLS(X)                                                          \
    X(cuInit, (unsigned flags))                                                \
    X(cuDevicePrimaryCtxRetain, (CUcontext * ctx, CUdevice device))            \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                         \
    X(cuDevicePrimaryCtxGetState,                                              \
      (CUdevice device, unsigned *flags, int *active))                         \
    X(cuCtxCreate_v2, (CUcontext * ctx, unsigned flags, CUdevice device))      \
    X(cuCtxDestroy_v2, (CUcontext ctx))                                        \
    X(cuCtxSetCurrent, (CUcontext ctx))                                        \
    X(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))       \
    X(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                 \
    X(cuCtxDisablePeerAccess, (CUcontext peer))                                \
    X(cuCtxGetCurrent, (CUcontext * ctx))                                      \
    X(cuCtxSynchronize, (void))                                                \
    X(cuMemAlloc_v2, (CUdeviceptr * ptr, size_t bytes))                        \
    X(cuMemFree_v2, (CUdeviceptr ptr))                                         \
    X(cuMemAllocAsync, (CUdeviceptr * ptr, size_t bytes, CUstream stream))     \
    X(cuMemFreeAsync, (CUdeviceptr ptr, CUstream stream))                      \
    X(cuMemAllocManaged, (CUdeviceptr * ptr, size_t bytes, unsigned flags))    \
    X(cuMemHostAlloc, (void **ptr, size_t bytes, unsigned flags))              \
    X(cuMemFreeHost, (void *ptr))                                              \
    X(cuMemHostRegister_v2, (void *ptr, size_t bytes, unsigned flags))         \
    X(cuMemHostUnregister, (void *ptr))                                        \
    X(cuMemAddressReserve, (CUdeviceptr * ptr, size_t size, size_t alignment,  \
                            CUdeviceptr addr, unsigned long long flags))       \
    X(cuMemAddressFree, (CUdeviceptr ptr, size_t size))                        \
    X(cuMemCreate,                                                             \
      (CUmemGenericAllocationHandle * handle, size_t size,                     \
       const CUmemAllocationProp *prop, unsigned long long flags))             \
    X(cuMemRelease, (CUmemGenericAllocationHandle handle))                     \
    X(cuMemMap,                                                                \
      (CUdeviceptr ptr, size_t size, size_t offset,                            \
       CUmemGenericAllocationHandle handle, unsigned long long flags))         \
    X(cuMemUnmap, (CUdeviceptr ptr, size_t size))                              \
    X(cuMemSetAccess, (CUdeviceptr ptr, size_t size,                           \
                       const CUmemAccessDesc *desc, size_t count))             \
    X(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr ptr))           \
    X(cuIpcOpenMemHandle_v2,                                                   \
      (CUdeviceptr * ptr, CUipcMemHandle handle, unsigned flags))              \
    X(cuIpcCloseMemHandle, (CUdeviceptr ptr))                                  \
    X(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t bytes))              \
    X(cuMemsetD8_v2, (CUdeviceptr dst, unsigned char value, size_t count))     \
    X(cuMemcpyAsync,                                                           \
      (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream))       \
    X(cuMemsetD8Async,                                                         \
      (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream))   \
    X(cuStreamQuery, (CUstream stream))                                        \
    X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))    \
    X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                  \
    X(cuGraphDestroy, (CUgraph graph))                                         \
    X(cuStreamSynchronize, (CUstream stream))                                  \
    X(cuStreamCreate, (CUstream * stream, unsigned flags))                     \
    X(cuStreamDestroy_v2, (CUstream stream))                                   \
    X(cuModuleLoadData, (CUmodule * module, const void *image))                \
    X(cuModuleUnload, (CUmodule module))                                       \
    X(cuModuleGetFunction,                                                     \
      (CUfunction * function, CUmodule module, const char *name))              \
    X(cuFuncGetModule, (CUmodule * module, CUfunction function))               \
    X(cuLaunchKernel,                                                          \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,  \
       CUstream stream, void **params, void **extra))                          \
    X(cuStreamWaitValue32_v2,                                                  \
      (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned flags))

struct soft_cuda {
#define X(name, params) CUresult(*name) params;
    SOFT_CALLS(X)
#undef X
};

/* Filled by soft_cuda_load. */
extern struct soft_cuda cu;

/* Loads libcuda.so.1 as a program does, lets the door see it; 0, or 1 with a
 * line on standard error. Initialises nothing. */
int soft_cuda_load(void);

/* The driver call must succeed. */
#define OK(call) assert_int_equal((call), CUDA_SUCCESS)

#endif
