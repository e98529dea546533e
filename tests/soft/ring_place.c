/* Bytes of rings by the calls of soft_cuda.h; see ring_place.h. */
#include "tests/soft/ring_place.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/config.h"
#include "shim/gds/cuda/memop.h"

enum { USUAL_QUEUES = 8 };

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

bool ring_is_mapped(const char *addr)
{
    return cu.cuIpcCloseMemHandle(gpu(addr)) != CUDA_ERROR_INVALID_VALUE;
}

static uint64_t *standing; /* the word of a wait that was not released */

unsigned ring_queues(void)
{
    int set = mgds_config_connections();

    return set > 0 ? (unsigned)set : USUAL_QUEUES;
}

/* In one operation, so that the stream has its queue from the mark on. */
static void mark_and_wait(const struct ring_wait *wait, unsigned i)
{
    const struct mgds_memop ops[] = {
        {.word = &wait->word[1 + i], .value = 1},
        {.wait = true, .word = wait->word, .value = 1}};

    assert_int_equal(mgds_memop_queue(wait->stream[i], 64, ops, 2), 0);
}

void ring_wait_open(struct ring_wait *wait, unsigned count)
{
    size_t bytes = (1 + count) * sizeof(*wait->word);

    assert_in_range(count, 1, RING_WAITS);
    wait->count = count;
    OK(cu.cuMemHostAlloc((void **)&wait->word, bytes, 0));
    memset(wait->word, 0, bytes);
    standing = wait->word;
    for (unsigned i = 0; i < count; i++) {
        wait->stream[i] = NULL;
        if (i > 0)
            OK(cu.cuStreamCreate(&wait->stream[i], CU_STREAM_NON_BLOCKING));
        mark_and_wait(wait, i);
    }
    for (unsigned i = 0; i < count; i++)
        while (!__atomic_load_n(&wait->word[1 + i], __ATOMIC_ACQUIRE))
            sched_yield();
}

bool ring_wait_stands(const struct ring_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++)
        if (cu.cuStreamQuery(wait->stream[i]) != CUDA_ERROR_NOT_READY)
            return false;
    return true;
}

void ring_wait_release(void)
{
    if (standing)
        __atomic_store_n(standing, 1, __ATOMIC_SEQ_CST);
    standing = NULL;
}

void ring_wait_close(struct ring_wait *wait)
{
    ring_wait_release();
    for (unsigned i = 0; i < wait->count; i++) {
        OK(cu.cuStreamSynchronize(wait->stream[i]));
        if (i > 0)
            OK(cu.cuStreamDestroy_v2(wait->stream[i]));
    }
    OK(cu.cuMemFreeHost(wait->word));
}
