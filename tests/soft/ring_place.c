/* Bytes of rings by the calls of soft_cuda.h; see ring_place.h. */
#include "tests/soft/ring_place.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static CUdeviceptr gpu(const void *addr)
{
    return (CUdeviceptr)(uintptr_t)addr;
}

struct mgds_context *ring_context_of(CUcontext handle)
{
    struct mgds_context *ctx = NULL;
    CUcontext before;

    OK(cu.cuCtxGetCurrent(&before));
    OK(cu.cuCtxSetCurrent(handle));
    assert_int_equal(mgds_context_of_stream(&ctx, NULL), 0);
    OK(cu.cuCtxSetCurrent(before));
    assert_non_null(ctx);
    return ctx;
}

static struct mgds_unit *fetch(const char *addr, uint32_t units)
{
    size_t bytes = units * sizeof(struct mgds_unit);
    struct mgds_unit *got = (struct mgds_unit *)malloc(bytes);

    assert_non_null(got);
    OK(cu.cuMemcpy(gpu(got), gpu(addr), bytes));
    return got;
}

void ring_assert_zero(const char *addr, uint32_t units)
{
    struct mgds_unit *got = fetch(addr, units);

    for (uint32_t i = 0; i < units; i++)
        assert_true(got[i].data == 0 && got[i].word == 0);
    free(got);
}

void ring_assert_filled(const char *addr, uint32_t units, uint64_t seed)
{
    struct mgds_unit *got = fetch(addr, units);

    for (uint32_t i = 0; i < units; i++)
        assert_true(got[i].data == seed + i && got[i].word == ~seed);
    free(got);
}

void ring_fill(char *addr, uint32_t units, uint64_t seed)
{
    size_t bytes = units * sizeof(struct mgds_unit);
    struct mgds_unit *put = (struct mgds_unit *)malloc(bytes);

    assert_non_null(put);
    for (uint32_t i = 0; i < units; i++)
        put[i] = (struct mgds_unit){seed + i, ~seed};
    OK(cu.cuMemcpy(gpu(addr), gpu(put), bytes));
    free(put);
}

bool ring_is_memory(const char *addr)
{
    CUipcMemHandle handle;

    return cu.cuIpcGetMemHandle(&handle, gpu(addr)) == CUDA_SUCCESS;
}

void ring_wait_open(struct ring_wait *wait)
{
    const unsigned geq = CU_STREAM_WAIT_VALUE_GEQ;

    OK(cu.cuMemHostAlloc((void **)&wait->flag, 64, 0));
    *wait->flag = 0;
    OK(cu.cuStreamCreate(&wait->stream, CU_STREAM_NON_BLOCKING));
    OK(cu.cuStreamWaitValue32_v2(wait->stream, gpu(wait->flag), 1, geq));
    OK(cu.cuStreamWaitValue32_v2(NULL, gpu(wait->flag), 1, geq));
}

bool ring_wait_stands(const struct ring_wait *wait)
{
    return cu.cuStreamQuery(wait->stream) == CUDA_ERROR_NOT_READY &&
           cu.cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY;
}

void ring_wait_close(struct ring_wait *wait)
{
    __atomic_store_n(wait->flag, 1, __ATOMIC_SEQ_CST);
    OK(cu.cuStreamSynchronize(wait->stream));
    OK(cu.cuStreamSynchronize(NULL));
    OK(cu.cuStreamDestroy_v2(wait->stream));
    OK(cu.cuMemFreeHost(wait->flag));
}
