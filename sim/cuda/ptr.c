/* What the driver tells about a pointer. */
#include <string.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/rdma.h"
#include "sim/cuda/stream.h"

/* A value and its size, which follows from the attribute. */
struct answer {
    uint64_t value;
    size_t size;
};

static struct answer word(uint64_t value)
{
    return (struct answer){value, 8};
}

static struct answer number(uint64_t value)
{
    return (struct answer){value, 4};
}

static struct answer flag(bool value)
{
    return (struct answer){value, 1};
}

static bool is_device(const struct mgds_gpu_block *block)
{
    return !mgds_block_is_host(block);
}

static unsigned handle_types(const struct mgds_gpu_block *block)
{
    return block->physical ? block->physical->prop.requestedHandleTypes
                           : CU_MEM_HANDLE_TYPE_NONE;
}

static struct answer access_flags(const struct mgds_gpu_block *block)
{
    return number(block->kind == MGDS_BLOCK_VIRTUAL
                      ? mgds_block_access(block)
                      : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

/* What the driver calls the range of mapped memory is all of the reservation
 * around it, gaps included; of other memory it is the allocation. */
static struct mgds_range range_of(const struct mgds_gpu_block *block)
{
    const struct mgds_range *around = NULL;

    if (block->kind == MGDS_BLOCK_VIRTUAL)
        around = mgds_vmm_reservation(block->addr);
    if (around)
        return *around;
    return (struct mgds_range){.start = block->addr, .size = block->size};
}

/* Size 0 for an attribute that does not exist, or not of such memory. */
static struct answer ask(const struct mgds_gpu_block *block,
                         CUpointer_attribute attribute, uintptr_t ptr)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return word(
            (uintptr_t)(block->kind == MGDS_BLOCK_POOL ? NULL : block->ctx));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return number(is_device(block) ? CU_MEMORYTYPE_DEVICE
                                       : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        if (ptr && !mgds_mem_in_reach(ptr))
            break;
        return word(ptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (is_device(block) && block->kind != MGDS_BLOCK_MANAGED)
            break;
        return word(ptr);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return flag(block->sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return word(block->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return flag(block->kind == MGDS_BLOCK_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return number((uint64_t)block->device->ordinal);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return flag(block->kind == MGDS_BLOCK_DEVICE);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return word(range_of(block).start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return word(range_of(block).size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return word(block->addr);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return word(block->size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return flag(block->kind != MGDS_BLOCK_VIRTUAL ||
                    mgds_block_access(block));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return word(handle_types(block));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return flag(mgds_rdma_capable(block));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return access_flags(block);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return word((uintptr_t)block->pool);
    default:
        break;
    }
    return (struct answer){0, 0};
}

/* Memory of a pool that is freed in a stream's order is unknown from that call
 * on, as it seems (results/2026-11-29-host), though it is there until the
 * stream comes to it. */
static struct mgds_gpu_block *find_known(CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)ptr);

    if (block && block->kind == MGDS_BLOCK_POOL && block->freeing)
        return NULL;
    return block;
}

static CUresult get_one(void *data, CUpointer_attribute attribute,
                        CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = find_known(ptr);
    struct answer answer;

    if (!data || !block)
        return CUDA_ERROR_INVALID_VALUE;
    answer = ask(block, attribute, (uintptr_t)ptr);
    if (answer.size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &answer.value, answer.size);
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                               CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_INIT, get_one(data, attribute, ptr));
}

/* What an attribute of no memory reads; the ordinal is -2 then. Of an address
 * that is reserved and not mapped the range is known all the same. */
static struct answer ask_nothing(CUpointer_attribute attribute, uintptr_t ptr)
{
    const struct mgds_range *around = mgds_vmm_reservation(ptr);
    struct mgds_gpu_device device = {.ordinal = CU_DEVICE_INVALID};
    struct mgds_gpu_block block = {.kind = MGDS_BLOCK_MANAGED,
                                   .device = &device};
    struct answer answer = ask(&block, attribute, 0);

    if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        answer.value = around ? around->start : 0;
    else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
        answer.value = around ? around->size : 0;
    else if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        answer.value = 0;
    return answer;
}

/* Unlike one attribute, many of an unknown pointer are not an error: they read
 * as nothing. */
static CUresult get_many(unsigned count, const CUpointer_attribute *attributes,
                         void **data, CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = find_known(ptr);

    if (!attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        struct answer nothing = ask_nothing(attributes[i], (uintptr_t)ptr);
        struct answer answer = nothing;

        if (nothing.size == 0 || !data[i])
            return CUDA_ERROR_INVALID_VALUE;
        if (block)
            answer = ask(block, attributes[i], (uintptr_t)ptr);
        memcpy(data[i], &answer.value, nothing.size);
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_INIT, get_many(count, attributes, data, ptr));
}

/* The one attribute that can be set. Pending calls that are synchronous by name
 * are waited for. */
static CUresult set(const void *value, CUpointer_attribute attribute,
                    CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = find_known(ptr);
    struct mgds_gpu_stream *legacy;

    if (!value || !block || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
        !is_device(block))
        return CUDA_ERROR_INVALID_VALUE;
    if (block->kind == MGDS_BLOCK_VIRTUAL)
        return CUDA_ERROR_NOT_SUPPORTED; /* H100, driver 580 */
    block->sync_memops = *(const unsigned *)value != 0;
    if (mgds_stream_find(NULL, &legacy) == CUDA_SUCCESS)
        mgds_stream_wait(legacy, legacy->unwaited);
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_INIT, set(value, attribute, ptr));
}
