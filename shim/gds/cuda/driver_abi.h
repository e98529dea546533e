/* The part of the CUDA driver's ABI that this project uses, for builds without
 * the toolkit: the software GPU implements it, the library's CUDA door calls
 * it. Names and layouts are the driver's. If cuda.h was included first, only
 * the layouts are declared, under our own tags, so that they can be compared
 * (sim/cuda/abi_check.c). Includes the C library only. */
#ifndef MGDS_DRIVER_ABI_H
#define MGDS_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifndef CUDA_VERSION

typedef enum {
#define RESULT(name, value, text) name = value,
#include "shim/gds/cuda/driver_results.def"
#undef RESULT
} CUresult;

enum {
#define CONST(name, value) name = value,
#include "shim/gds/cuda/driver_consts.def"
#undef CONST
};

typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUuserObject_st *CUuserObject;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUarray_st *CUarray;
typedef void (*CUhostFn)(void *arg);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *arg);
typedef size_t (*CUoccupancyB2DSize)(int block_size);

typedef unsigned CUdevice_attribute;
typedef unsigned CUdevice_P2PAttribute;
typedef unsigned CUpointer_attribute;
typedef unsigned CUmemorytype;
typedef unsigned CUmemPool_attribute;
typedef unsigned CUmemLocationType;
typedef unsigned CUmemAllocationType;
typedef unsigned CUmemAllocationHandleType;
typedef unsigned CUmemAllocationGranularity_flags;
typedef unsigned CUmemAccess_flags;
typedef unsigned CUmemRangeHandleType;
typedef unsigned CUstreamBatchMemOpType;
typedef unsigned CUstreamCaptureMode;
typedef unsigned CUstreamCaptureStatus;
typedef unsigned CUgraphNodeType;
typedef unsigned CUgraphInstantiateResult;
typedef unsigned CUgraphExecUpdateResult;
typedef unsigned CUlaunchAttributeID;
typedef unsigned CUfunction_attribute;
typedef unsigned CUlimit;
typedef unsigned CUdriverProcAddressQueryResult;
typedef unsigned CUjit_option;
typedef unsigned CUlibraryOption;
typedef unsigned CUfunc_cache;
typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef struct CUexecAffinityParam_st CUexecAffinityParam;
typedef struct CUgreenCtx_st *CUgreenCtx;

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_LAUNCH_PARAM_END ((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)

#endif

struct mgds_cu_uuid {
    char bytes[16];
};

struct mgds_cu_ipc_handle {
    char reserved[64];
};

struct mgds_cu_memcpy2d {
    size_t srcXInBytes;
    size_t srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
};

/* Serves CUDA_MEMCPY3D_PEER too: its contexts stand where the plain form has
 * reserved words. */
struct mgds_cu_memcpy3d {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
};

struct mgds_cu_mem_location {
    CUmemLocationType type;
    int id;
};

struct mgds_cu_mem_access {
    struct mgds_cu_mem_location location;
    CUmemAccess_flags flags;
};

struct mgds_cu_mem_prop {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    struct mgds_cu_mem_location location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
};

struct mgds_cu_pool_props {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    struct mgds_cu_mem_location location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};

/* Wait and write have one layout; barrier and flush use its head. */
union mgds_cu_memop {
    CUstreamBatchMemOpType operation;
    struct {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        union {
            cuuint32_t value;
            cuuint64_t value64;
        };
        unsigned int flags;
        CUdeviceptr alias;
    } waitValue;
    struct {
        CUstreamBatchMemOpType operation;
        unsigned int flags;
    } memoryBarrier;
    cuuint64_t pad[6];
};

struct mgds_cu_launch_attribute {
    CUlaunchAttributeID id;
    char pad[8 - sizeof(CUlaunchAttributeID)];
    union {
        char pad[64];
        int cooperative;
        int priority;
        int programmaticStreamSerializationAllowed;
        struct {
            unsigned int x, y, z;
        } clusterDim;
        struct {
            CUevent event;
            int flags;
            int triggerAtBlockStart;
        } programmaticEvent;
    } value;
};

struct mgds_cu_launch_config {
    unsigned int gridDimX;
    unsigned int gridDimY;
    unsigned int gridDimZ;
    unsigned int blockDimX;
    unsigned int blockDimY;
    unsigned int blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    struct mgds_cu_launch_attribute *attrs;
    unsigned int numAttrs;
};

struct mgds_cu_kernel_node {
    CUfunction func;
    unsigned int gridDimX;
    unsigned int gridDimY;
    unsigned int gridDimZ;
    unsigned int blockDimX;
    unsigned int blockDimY;
    unsigned int blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
};

struct mgds_cu_memset_node {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize;
    size_t width;
    size_t height;
};

struct mgds_cu_host_node {
    CUhostFn fn;
    void *userData;
};

struct mgds_cu_memop_node {
    CUcontext ctx;
    unsigned int count;
    union mgds_cu_memop *paramArray;
    unsigned int flags;
};

struct mgds_cu_edge {
    unsigned char from_port;
    unsigned char to_port;
    unsigned char type;
    unsigned char reserved[5];
};

struct mgds_cu_instantiate {
    cuuint64_t flags;
    CUstream hUploadStream;
    CUgraphNode hErrNode_out;
    CUgraphInstantiateResult result_out;
};

struct mgds_cu_exec_update {
    CUgraphExecUpdateResult result;
    CUgraphNode errorNode;
    CUgraphNode errorFromNode;
};

struct mgds_cu_devprop {
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int sharedMemPerBlock;
    int totalConstantMemory;
    int SIMDWidth;
    int memPitch;
    int regsPerBlock;
    int clockRate;
    int textureAlign;
};

#ifndef CUDA_VERSION
typedef struct mgds_cu_uuid CUuuid;
typedef struct mgds_cu_ipc_handle CUipcMemHandle;
typedef struct mgds_cu_ipc_handle CUipcEventHandle;
typedef struct mgds_cu_memcpy2d CUDA_MEMCPY2D;
typedef struct mgds_cu_memcpy3d CUDA_MEMCPY3D;
typedef struct mgds_cu_memcpy3d CUDA_MEMCPY3D_PEER;
typedef struct mgds_cu_mem_location CUmemLocation;
typedef struct mgds_cu_mem_access CUmemAccessDesc;
typedef struct mgds_cu_mem_prop CUmemAllocationProp;
typedef struct mgds_cu_pool_props CUmemPoolProps;
typedef union mgds_cu_memop CUstreamBatchMemOpParams;
typedef struct mgds_cu_launch_attribute CUlaunchAttribute;
typedef struct mgds_cu_launch_config CUlaunchConfig;
typedef struct mgds_cu_kernel_node CUDA_KERNEL_NODE_PARAMS;
typedef struct mgds_cu_memset_node CUDA_MEMSET_NODE_PARAMS;
typedef struct mgds_cu_host_node CUDA_HOST_NODE_PARAMS;
typedef struct mgds_cu_memop_node CUDA_BATCH_MEM_OP_NODE_PARAMS;
typedef struct mgds_cu_edge CUgraphEdgeData;
typedef struct mgds_cu_instantiate CUDA_GRAPH_INSTANTIATE_PARAMS;
typedef struct mgds_cu_exec_update CUgraphExecUpdateResultInfo;
typedef struct mgds_cu_devprop CUdevprop;
#endif

#endif
