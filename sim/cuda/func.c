/* Attributes of functions, and occupancy. */
#include "sim/cuda/module.h"

#define SHARED_MAX 232448

static CUresult get_attribute(int *value, CUfunction_attribute attribute,
                              CUfunction handle)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find(handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!value || attribute > 15)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        *value = 1024;
    else if (attribute == CU_FUNC_ATTRIBUTE_NUM_REGS)
        *value = 32;
    else if (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION ||
             attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION)
        *value = 90;
    else if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        *value = function->dynamic_shared ? function->dynamic_shared : 49152;
    else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        *value = function->carveout;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                            CUfunction function)
{
    MGDS_API(call, MGDS_NEED_INIT, get_attribute(value, attribute, function));
}

static CUresult set_attribute(CUfunction handle, CUfunction_attribute attribute,
                              int value)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find(handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > SHARED_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        function->dynamic_shared = value;
        return CUDA_SUCCESS;
    }
    if (attribute != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ||
        value < -1 || value > 100)
        return CUDA_ERROR_INVALID_VALUE;
    function->carveout = value;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value)
{
    MGDS_API(call, MGDS_NEED_CTX, set_attribute(function, attribute, value));
}

static CUresult set_cache(CUfunction handle, CUfunc_cache config)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find(handle, &function);

    return rc == CUDA_SUCCESS && config > 3 ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    MGDS_API(call, MGDS_NEED_CTX, set_cache(function, config));
}

/* As many as threads and blocks of a multiprocessor allow. */
static CUresult active_blocks(int *blocks, CUfunction handle, int block_size,
                              size_t shared)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find(handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!blocks || block_size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = block_size > 1024 ? 0 : 2048 / ((block_size + 31) / 32 * 32);
    if (*blocks > 32)
        *blocks = 32;
    if (shared && (size_t)*blocks > SHARED_MAX / shared)
        *blocks = (int)(SHARED_MAX / shared);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                     CUfunction function,
                                                     int block_size,
                                                     size_t shared)
{
    MGDS_API(call, MGDS_NEED_CTX,
             active_blocks(blocks, function, block_size, shared));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction function, int block_size, size_t shared,
    unsigned flags)
{
    if (flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function,
                                                       block_size, shared);
}

static CUresult potential(int *min_grid, int *block_size, CUfunction handle,
                          int limit)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find(handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!min_grid || !block_size || limit < 0)
        return CUDA_ERROR_INVALID_VALUE;
    *block_size = limit && limit < 1024 ? limit : 1024;
    *min_grid = 132 * (2048 / *block_size > 32 ? 32 : 2048 / *block_size);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size,
                                          CUfunction function,
                                          CUoccupancyB2DSize to_shared,
                                          size_t shared, int limit)
{
    (void)to_shared;
    (void)shared;
    MGDS_API(call, MGDS_NEED_CTX,
             potential(min_grid, block_size, function, limit));
}
