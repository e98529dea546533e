/* Compiled only where the toolkit is: our picture of the driver's ABI against
 * its own header. No code. */
#include <assert.h>
#include <cuda.h>

#include "shim/gds/cuda/driver_abi.h"

#define RESULT(name, value, text) static_assert((name) == (value), #name);
#include "shim/gds/cuda/driver_results.def"
#undef RESULT
#define CONST(name, value) static_assert((int)(name) == (value), #name);
#include "shim/gds/cuda/driver_consts.def"
#undef CONST

#define SAME(theirs, ours)                                                     \
    static_assert(sizeof(theirs) == sizeof(ours), #theirs)
#define AT(theirs, ours, field)                                                \
    static_assert(offsetof(theirs, field) == offsetof(ours, field),            \
                  #theirs "." #field)

SAME(CUuuid, struct mgds_cu_uuid);
SAME(CUipcMemHandle, struct mgds_cu_ipc_handle);
SAME(CUipcEventHandle, struct mgds_cu_ipc_handle);
SAME(CUDA_MEMCPY2D, struct mgds_cu_memcpy2d);
AT(CUDA_MEMCPY2D, struct mgds_cu_memcpy2d, srcMemoryType);
AT(CUDA_MEMCPY2D, struct mgds_cu_memcpy2d, srcPitch);
AT(CUDA_MEMCPY2D, struct mgds_cu_memcpy2d, dstMemoryType);
AT(CUDA_MEMCPY2D, struct mgds_cu_memcpy2d, dstPitch);
AT(CUDA_MEMCPY2D, struct mgds_cu_memcpy2d, Height);
SAME(CUDA_MEMCPY3D, struct mgds_cu_memcpy3d);
AT(CUDA_MEMCPY3D, struct mgds_cu_memcpy3d, srcMemoryType);
AT(CUDA_MEMCPY3D, struct mgds_cu_memcpy3d, srcHeight);
AT(CUDA_MEMCPY3D, struct mgds_cu_memcpy3d, dstMemoryType);
AT(CUDA_MEMCPY3D, struct mgds_cu_memcpy3d, dstHeight);
AT(CUDA_MEMCPY3D, struct mgds_cu_memcpy3d, Depth);
SAME(CUDA_MEMCPY3D_PEER, struct mgds_cu_memcpy3d);
AT(CUDA_MEMCPY3D_PEER, struct mgds_cu_memcpy3d, srcHeight);
AT(CUDA_MEMCPY3D_PEER, struct mgds_cu_memcpy3d, dstHeight);
SAME(CUmemLocation, struct mgds_cu_mem_location);
AT(CUmemLocation, struct mgds_cu_mem_location, id);
SAME(CUmemAccessDesc, struct mgds_cu_mem_access);
AT(CUmemAccessDesc, struct mgds_cu_mem_access, flags);
SAME(CUmemAllocationProp, struct mgds_cu_mem_prop);
AT(CUmemAllocationProp, struct mgds_cu_mem_prop, requestedHandleTypes);
AT(CUmemAllocationProp, struct mgds_cu_mem_prop, location);
AT(CUmemAllocationProp, struct mgds_cu_mem_prop, allocFlags);
SAME(CUmemPoolProps, struct mgds_cu_pool_props);
AT(CUmemPoolProps, struct mgds_cu_pool_props, location);
AT(CUmemPoolProps, struct mgds_cu_pool_props, maxSize);
SAME(CUstreamBatchMemOpParams, union mgds_cu_memop);
AT(CUstreamBatchMemOpParams, union mgds_cu_memop, waitValue.address);
AT(CUstreamBatchMemOpParams, union mgds_cu_memop, waitValue.value64);
AT(CUstreamBatchMemOpParams, union mgds_cu_memop, waitValue.flags);
AT(CUstreamBatchMemOpParams, union mgds_cu_memop, memoryBarrier.flags);
static_assert(offsetof(CUstreamBatchMemOpParams, writeValue.value) ==
                  offsetof(CUstreamBatchMemOpParams, waitValue.value),
              "write and wait have one layout");
static_assert(offsetof(CUstreamBatchMemOpParams, writeValue.flags) ==
                  offsetof(CUstreamBatchMemOpParams, waitValue.flags),
              "write and wait have one layout");
SAME(CUlaunchAttribute, struct mgds_cu_launch_attribute);
AT(CUlaunchAttribute, struct mgds_cu_launch_attribute, value);
SAME(CUlaunchConfig, struct mgds_cu_launch_config);
AT(CUlaunchConfig, struct mgds_cu_launch_config, hStream);
AT(CUlaunchConfig, struct mgds_cu_launch_config, numAttrs);
SAME(CUDA_KERNEL_NODE_PARAMS, struct mgds_cu_kernel_node);
AT(CUDA_KERNEL_NODE_PARAMS, struct mgds_cu_kernel_node, kernelParams);
AT(CUDA_KERNEL_NODE_PARAMS, struct mgds_cu_kernel_node, ctx);
SAME(CUDA_MEMSET_NODE_PARAMS, struct mgds_cu_memset_node);
AT(CUDA_MEMSET_NODE_PARAMS, struct mgds_cu_memset_node, width);
SAME(CUDA_HOST_NODE_PARAMS, struct mgds_cu_host_node);
AT(CUDA_HOST_NODE_PARAMS, struct mgds_cu_host_node, userData);
SAME(CUDA_BATCH_MEM_OP_NODE_PARAMS, struct mgds_cu_memop_node);
AT(CUDA_BATCH_MEM_OP_NODE_PARAMS, struct mgds_cu_memop_node, paramArray);
SAME(CUgraphEdgeData, struct mgds_cu_edge);
SAME(CUDA_GRAPH_INSTANTIATE_PARAMS, struct mgds_cu_instantiate);
AT(CUDA_GRAPH_INSTANTIATE_PARAMS, struct mgds_cu_instantiate, result_out);
SAME(CUgraphExecUpdateResultInfo, struct mgds_cu_exec_update);
AT(CUgraphExecUpdateResultInfo, struct mgds_cu_exec_update, errorFromNode);
SAME(CUdevprop, struct mgds_cu_devprop);
AT(CUdevprop, struct mgds_cu_devprop, textureAlign);

/* Our prototypes, after the header's: the compiler compares them. Its renaming
 * of the plain names would get in the way. */
#undef cuGetProcAddress
#undef cuDeviceGetUuid
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamBatchMemOp
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuEventElapsedTime
#undef cuStreamGetCtx_v2
/* not the header's type of an enum argument */
#define cuFlushGPUDirectRDMAWrites mgds_not_compared

#define CALL(base, symbol, version, params) CUresult symbol params;
#define TWIN(base, symbol, suffix, version, params, args)                      \
    CUresult symbol params;                                                    \
    CUresult symbol##suffix params;
#include "sim/cuda/calls.def"
