/* Order inside a stream, independence between streams, what a stream tells
 * about itself (Driver API, "Stream Management"). */
#include "case.h"

static void sync_task(void *stream)
{
    OK(cu.StreamSynchronize(stream));
}

static void work_runs_in_the_order_of_a_stream(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr a = mgds_zeroed(4), b = mgds_zeroed(8);

    mgds_hwqueue_hold(gate, s);
    OK(cu.MemsetD32Async(a, 1, 1, s));
    OK(cu.MemcpyDtoDAsync(b, a, 4, s));
    OK(cu.MemsetD32Async(a, 2, 1, s));
    OK(cu.MemcpyDtoDAsync(b + 4, a, 4, s));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek64(b));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x200000001, mgds_peek64(b));
}

static void held_stream_does_not_hold_another(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(4);

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(word, 7, 1, b));
    mgds_expect_returns(gate, "synchronize of the other stream", sync_task, b);
    EXPECT_EQ(7, mgds_peek(word));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(a));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(a));
}

static void blocking_streams_do_not_hold_each_other(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT);
    CUstream b = mgds_stream(CU_STREAM_DEFAULT);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(4);

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(word, 7, 1, b));
    mgds_expect_returns(gate, "synchronize of the other stream", sync_task, b);
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(a));
    EXPECT_EQ(7, mgds_peek(word));
}

static void stream_is_not_ready_while_work_is_left(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(s));
    mgds_hwqueue_hold(gate, s);
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(s));
}

static void stream_synchronize_waits_for_its_work(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, s);
    mgds_expect_blocked(gate, "cuStreamSynchronize", sync_task, s);
}

static void ctx_sync_task(void *arg)
{
    (void)arg;
    OK(cu.CtxSynchronize());
}

static void context_synchronize_waits_for_every_stream(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, s);
    mgds_expect_blocked(gate, "cuCtxSynchronize", ctx_sync_task, NULL);
}

/* "In case the device is still doing work in the stream when cuStreamDestroy()
 * is called, the function will return immediately and the resources will be
 * released automatically" once the device has completed all work. */
static void destroy_task(void *stream)
{
    OK(cu.StreamDestroy(stream));
}

static void destroyed_stream_still_does_its_work(void)
{
    CUstream s;
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(4);
    CUevent after = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    mgds_hwqueue_hold(gate, s);
    OK(cu.MemsetD32Async(word, 9, 1, s));
    OK(cu.EventRecord(after, s));
    mgds_expect_returns(gate, "cuStreamDestroy of a busy stream", destroy_task,
                        s);
    EXPECT_EQ(0, mgds_peek(word));
    mgds_hwqueue_open(gate);
    OK(cu.EventSynchronize(after));
    EXPECT_EQ(9, mgds_peek(word));
}

static void stream_keeps_its_flags_and_context(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_stream(CU_STREAM_DEFAULT);
    unsigned flags = 99;
    CUcontext ctx = NULL;

    OK(cu.StreamGetFlags(a, &flags));
    EXPECT_EQ(CU_STREAM_NON_BLOCKING, flags);
    OK(cu.StreamGetFlags(b, &flags));
    EXPECT_EQ(CU_STREAM_DEFAULT, flags);
    OK(cu.StreamGetCtx(a, &ctx));
    EXPECT(ctx == mgds_env_ctx(0));
}

static void stream_context_is_its_own_not_the_current_one(void)
{
    CUstream a = mgds_free_stream();
    CUcontext ctx = NULL;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    OK(cu.StreamGetCtx(a, &ctx));
    EXPECT(ctx == mgds_env_ctx(0));
    OK(cu.StreamGetCtx(NULL, &ctx));
    EXPECT(ctx == mgds_env_ctx(1));
    OK(cu.CtxSetCurrent(NULL));
    OK(cu.StreamGetCtx(a, &ctx));
    EXPECT(ctx == mgds_env_ctx(0));
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
}

static void streams_have_different_ids(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_free_stream();
    unsigned long long ida = 0, again = 0, idb = 0, legacy = 0;

    OK(cu.StreamGetId(a, &ida));
    OK(cu.StreamGetId(a, &again));
    OK(cu.StreamGetId(b, &idb));
    OK(cu.StreamGetId(NULL, &legacy));
    EXPECT_EQ(ida, again);
    EXPECT(ida != idb);
    EXPECT(legacy != ida && legacy != idb);
}

static void stream_flags_are_checked(void)
{
    CUstream s;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.StreamCreate(&s, 0x80));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamCreate(NULL, CU_STREAM_DEFAULT));
}

static void stream_priority_is_clamped(void)
{
    int least = 0, greatest = 0, got = 99;
    CUstream s;

    OK(cu.CtxGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least);
    OK(cu.StreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, greatest));
    OK(cu.StreamGetPriority(s, &got));
    EXPECT_EQ(greatest, got);
    OK(cu.StreamDestroy(s));
    OK(cu.StreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -1000));
    OK(cu.StreamGetPriority(s, &got));
    EXPECT_EQ(greatest, got);
    OK(cu.StreamDestroy(s));
}

static void default_stream_cannot_be_destroyed(void)
{
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.StreamDestroy(NULL));
}

static void work_of_another_devices_stream_runs_there(void)
{
    CUstream s;
    CUdeviceptr word;
    uint32_t got = 0;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    s = mgds_free_stream();
    OK(cu.MemAlloc(&word, 4));
    OK(cu.MemsetD32Async(word, 5, 1, s));
    /* The stream's context counts, not the current one. */
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    OK(cu.StreamSynchronize(s));
    OK(cu.MemcpyDtoH(&got, word, 4));
    EXPECT_EQ(5, got);
    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    OK(cu.MemFree(word));
}

const struct mgds_case mgds_cases_stream[] = {
    CASE(work_runs_in_the_order_of_a_stream, NEED_MEMOPS),
    CASE(held_stream_does_not_hold_another, NEED_MEMOPS),
    CASE(blocking_streams_do_not_hold_each_other, NEED_MEMOPS),
    CASE(stream_is_not_ready_while_work_is_left, NEED_MEMOPS),
    CASE(stream_synchronize_waits_for_its_work, NEED_MEMOPS),
    CASE(context_synchronize_waits_for_every_stream, NEED_MEMOPS),
    CASE(destroyed_stream_still_does_its_work, NEED_MEMOPS),
    CASE(stream_keeps_its_flags_and_context),
    CASE(stream_context_is_its_own_not_the_current_one, NEED_2DEV),
    CASE(streams_have_different_ids),
    CASE(stream_flags_are_checked),
    CASE(stream_priority_is_clamped),
    CASE(default_stream_cannot_be_destroyed),
    CASE(work_of_another_devices_stream_runs_there, NEED_2DEV),
    CASE_END,
};
