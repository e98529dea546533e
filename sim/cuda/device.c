/* Devices: what they say they are (an H200, as far as programs can tell). */
#include <stdio.h>
#include <stdlib.h>

#include "sim/cuda/mem.h"
#include "sim/cuda/rdma.h"

static const struct attribute {
    unsigned name;
    int value;
} attributes[] = {
#define A(name, value)                                                         \
    {                                                                          \
        CU_DEVICE_ATTRIBUTE_##name, value                                      \
    }
    A(MAX_THREADS_PER_BLOCK, 1024),
    A(MAX_BLOCK_DIM_X, 1024),
    A(MAX_BLOCK_DIM_Y, 1024),
    A(MAX_BLOCK_DIM_Z, 64),
    A(MAX_GRID_DIM_X, 2147483647),
    A(MAX_GRID_DIM_Y, 65535),
    A(MAX_GRID_DIM_Z, 65535),
    A(MAX_SHARED_MEMORY_PER_BLOCK, 49152),
    A(TOTAL_CONSTANT_MEMORY, 65536),
    A(WARP_SIZE, 32),
    A(MAX_PITCH, 2147483647),
    A(MAX_REGISTERS_PER_BLOCK, 65536),
    A(CLOCK_RATE, 1980000),
    A(TEXTURE_ALIGNMENT, 512),
    A(GPU_OVERLAP, 1),
    A(MULTIPROCESSOR_COUNT, 132),
    A(CAN_MAP_HOST_MEMORY, 1),
    A(CONCURRENT_KERNELS, 1),
    A(ECC_ENABLED, 1),
    A(MEMORY_CLOCK_RATE, 3201000),
    A(GLOBAL_MEMORY_BUS_WIDTH, 6144),
    A(L2_CACHE_SIZE, 62914560),
    A(MAX_THREADS_PER_MULTIPROCESSOR, 2048),
    A(ASYNC_ENGINE_COUNT, 3),
    A(UNIFIED_ADDRESSING, 1),
    A(TEXTURE_PITCH_ALIGNMENT, 32),
    A(COMPUTE_CAPABILITY_MAJOR, 9),
    A(STREAM_PRIORITIES_SUPPORTED, 1),
    A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472),
    A(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536),
    A(MANAGED_MEMORY, 1),
    A(CONCURRENT_MANAGED_ACCESS, 1),
    A(COMPUTE_PREEMPTION_SUPPORTED, 1),
    A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
    A(CAN_USE_STREAM_MEM_OPS_V1, 1),
    A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1),
    A(COOPERATIVE_LAUNCH, 1),
    A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448),
    A(HOST_REGISTER_SUPPORTED, 1),
    A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
    A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
    A(MAX_BLOCKS_PER_MULTIPROCESSOR, 32),
    A(GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1),
    A(MEMORY_POOLS_SUPPORTED, 1),
    A(GPU_DIRECT_RDMA_SUPPORTED, 1),
    A(MEMPOOL_SUPPORTED_HANDLE_TYPES, 1),
    A(CLUSTER_LAUNCH, 1),
    A(CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
    A(DMA_BUF_SUPPORTED, 1),
    A(IPC_EVENT_SUPPORTED, 1),
    A(HOST_NUMA_ID, 0),
#undef A
};

/* 0 is what the driver reports of a feature that is not there. */
static int attribute_value(const struct mgds_gpu_device *device, unsigned name)
{
    int value;

    if (name == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
        return (int)mgds_gpu.cfg.visible[device->ordinal] + 1;
    if (name == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ||
        name == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1)
        return mgds_gpu.cfg.wide_memops;
    if (mgds_rdma_attribute(name, &value))
        return value;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        if (attributes[i].name == name)
            return attributes[i].value;
    }
    return 0;
}

static CUresult get(CUdevice *out, int ordinal)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!mgds_gpu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *out = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    MGDS_API(call, MGDS_NEED_INIT, get(device, ordinal));
}

static CUresult get_count(int *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = mgds_gpu.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    MGDS_API(call, MGDS_NEED_INIT, get_count(count));
}

static CUresult get_name(char *name, int size, CUdevice ordinal)
{
    if (!mgds_gpu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!name || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "mpix-sim software GPU");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, get_name(name, size, device));
}

static CUresult get_uuid(CUuuid *uuid, CUdevice ordinal)
{
    if (!mgds_gpu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    *uuid = mgds_gpu_device(ordinal)->uuid;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, get_uuid(uuid, device));
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

static CUresult total_mem(size_t *bytes, CUdevice ordinal)
{
    if (!mgds_gpu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = mgds_gpu.cfg.memory << 20;
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, total_mem(bytes, device));
}

static CUresult get_attribute(int *value, unsigned name, CUdevice ordinal)
{
    if (!mgds_gpu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!value || name == 0 ||
        name > CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute_value(mgds_gpu_device(ordinal), name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, get_attribute(value, attribute, device));
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    CUresult rc = cuDeviceGetAttribute(
        major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);

    if (rc != CUDA_SUCCESS)
        return rc;
    return cuDeviceGetAttribute(
        minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

static CUresult properties(CUdevprop *prop, CUdevice ordinal)
{
    if (!mgds_gpu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    *prop = (CUdevprop){
        .maxThreadsPerBlock = 1024,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {2147483647, 65535, 65535},
        .sharedMemPerBlock = 49152,
        .totalConstantMemory = 65536,
        .SIMDWidth = 32,
        .memPitch = 2147483647,
        .regsPerBlock = 65536,
        .clockRate = 1980000,
        .textureAlign = 512,
    };
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, properties(prop, device));
}

/* One bus a GPU, by its physical number, so that processes that see
 * different ones agree. */
static CUresult get_bus_id(char *id, int size, CUdevice ordinal)
{
    if (!mgds_gpu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!id || size < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(id, (size_t)size, "0000:%02X:00.0",
             mgds_gpu.cfg.visible[ordinal] + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, get_bus_id(id, size, device));
}

/* [domain:]bus:slot[.function] in hexadecimal; false for anything else. */
static bool parse_bus_id(const char *id, unsigned long numbers[4])
{
    int count = 0;
    char *end;

    do {
        numbers[count] = strtoul(id, &end, 16);
        if (end == id || count == 3)
            return false;
        count++;
        id = end + 1;
    } while (*end == ':');
    if (count == 2) {
        numbers[2] = numbers[1];
        numbers[1] = numbers[0];
        numbers[0] = 0;
    }
    return count > 1 && (*end == '\0' || *end == '.');
}

static CUresult by_bus_id(CUdevice *out, const char *id)
{
    unsigned long numbers[4];

    if (!out || !id || !parse_bus_id(id, numbers))
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < mgds_gpu.devices; i++) {
        if (numbers[0] == 0 && numbers[2] == 0 &&
            numbers[1] == mgds_gpu.cfg.visible[i] + 1) {
            *out = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    MGDS_API(call, MGDS_NEED_INIT, by_bus_id(device, id));
}

/* All GPUs of a host are peers, as with NVLink, or none. */
static CUresult can_access(int *can, CUdevice device, CUdevice peer)
{
    if (!mgds_gpu_device(device) || !mgds_gpu_device(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    *can = device != peer && mgds_gpu.cfg.peers;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    MGDS_API(call, MGDS_NEED_INIT, can_access(can, device, peer));
}

static CUresult p2p(int *value, unsigned attribute, CUdevice src, CUdevice dst)
{
    if (!mgds_gpu_device(src) || !mgds_gpu_device(dst) || src == dst)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!value || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attribute > CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK &&
             mgds_gpu.cfg.peers;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute,
                                 CUdevice src, CUdevice dst)
{
    MGDS_API(call, MGDS_NEED_INIT, p2p(value, attribute, src, dst));
}
