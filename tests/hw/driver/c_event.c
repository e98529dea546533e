/* Events: what a record captures, what a wait waits for, timing, errors
 * (Driver API, "Event Management"). */
#include "case.h"

static void event_sync_task(void *arg)
{
    OK(cu.EventSynchronize(arg));
}

static void unrecorded_event_is_ready(void)
{
    CUevent e = mgds_event(CU_EVENT_DEFAULT);

    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
    EXPECT_CU(CUDA_SUCCESS, cu.EventSynchronize(e));
}

static void event_recorded_after_copy_is_not_ready_before_it(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    uint32_t *host = mgds_pinned(4);
    CUdeviceptr word = mgds_zeroed(4);

    mgds_poke(word, 3);
    mgds_hwqueue_hold(gate, s);
    OK(cu.MemcpyDtoHAsync(host, word, 4, s));
    OK(cu.EventRecord(e, s));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    EXPECT_EQ(0, *host);
    mgds_hwqueue_open(gate);
    OK(cu.EventSynchronize(e));
    EXPECT_EQ(3, *host);
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
}

static void event_synchronize_waits_for_the_record(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    mgds_hwqueue_hold(gate, s);
    OK(cu.EventRecord(e, s));
    mgds_expect_blocked(gate, "cuEventSynchronize", event_sync_task, e);
}

static void blocking_sync_event_waits_too(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_BLOCKING_SYNC);

    mgds_hwqueue_hold(gate, s);
    OK(cu.EventRecord(e, s));
    mgds_expect_blocked(gate, "cuEventSynchronize", event_sync_task, e);
}

static void stream_waits_for_an_event_of_another(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUdeviceptr x = mgds_zeroed(4), y = mgds_zeroed(4);

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(x, 6, 1, a));
    OK(cu.EventRecord(e, a));
    OK(cu.StreamWaitEvent(b, e, 0));
    OK(cu.MemcpyDtoDAsync(y, x, 4, b));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(b));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(b));
    EXPECT_EQ(6, mgds_peek(y));
    OK(cu.StreamSynchronize(a));
}

static void wait_for_an_unrecorded_event_is_none(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.StreamWaitEvent(b, e, 0));
    /* A record after the wait was called does not count for it. */
    mgds_hwqueue_hold(gate, a);
    OK(cu.EventRecord(e, a));
    OK(cu.StreamSynchronize(b));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(a));
}

/* "cuStreamWaitEvent() ... the most recent call to cuEventRecord() on the
 * event": at the call; a later record changes nothing for it. */
static void wait_uses_the_record_at_its_call(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_free_stream();
    CUstream c = mgds_free_stream();
    struct mgds_hwqueue first = mgds_hwqueue_new(), second = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    mgds_hwqueue_hold(first, a);
    OK(cu.EventRecord(e, a));
    OK(cu.StreamWaitEvent(b, e, 0));
    mgds_hwqueue_hold(second, c);
    OK(cu.EventRecord(e, c));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(b));
    mgds_hwqueue_open(first);
    OK(cu.StreamSynchronize(b));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    mgds_hwqueue_open(second);
    OK(cu.EventSynchronize(e));
}

static void recorded_again_event_is_not_ready_again(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.EventRecord(e, s));
    OK(cu.EventSynchronize(e));
    mgds_hwqueue_hold(gate, s);
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
    OK(cu.EventRecord(e, s));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    mgds_hwqueue_open(gate);
    OK(cu.EventSynchronize(e));
}

/* "An event may be destroyed before it is complete": the wait stays. */
static void destroyed_event_still_orders_its_waits(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e;

    OK(cu.EventCreate(&e, CU_EVENT_DISABLE_TIMING));
    mgds_hwqueue_hold(gate, a);
    OK(cu.EventRecord(e, a));
    OK(cu.StreamWaitEvent(b, e, 0));
    OK(cu.EventDestroy(e));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(b));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(b));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(a));
}

static void elapsed_time_lies_between_its_events(void)
{
    CUstream s = mgds_free_stream();
    CUevent a = mgds_event(CU_EVENT_DEFAULT), b = mgds_event(CU_EVENT_DEFAULT);
    float ms = -1;

    OK(cu.EventRecord(a, s));
    OK(cu.EventRecord(b, s));
    OK(cu.EventSynchronize(b));
    OK(cu.EventElapsedTime(&ms, a, b));
    EXPECT(ms >= 0 && ms < 10000);
    OK(cu.EventElapsedTime(&ms, a, a));
    EXPECT(ms >= 0 && ms < 0.001f);
}

static void elapsed_time_of_an_unfinished_event_is_not_ready(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent a = mgds_event(CU_EVENT_DEFAULT), b = mgds_event(CU_EVENT_DEFAULT);
    float ms;

    OK(cu.EventRecord(a, s));
    mgds_hwqueue_hold(gate, s);
    OK(cu.EventRecord(b, s));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventElapsedTime(&ms, a, b));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    OK(cu.EventElapsedTime(&ms, a, b));
}

static void elapsed_time_needs_timing_and_records(void)
{
    CUstream s = mgds_free_stream();
    CUevent a = mgds_event(CU_EVENT_DEFAULT), b = mgds_event(CU_EVENT_DEFAULT);
    CUevent mute = mgds_event(CU_EVENT_DISABLE_TIMING);
    float ms;

    OK(cu.EventRecord(a, s));
    OK(cu.EventRecord(mute, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.EventElapsedTime(&ms, a, b));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.EventElapsedTime(&ms, a, mute));
}

static void event_flags_are_checked(void)
{
    CUevent e;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.EventCreate(&e, 0x100));
    /* Interprocess events need disabled timing. */
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.EventCreate(&e, CU_EVENT_INTERPROCESS));
}

static void event_and_stream_must_share_a_context(void)
{
    CUstream s = mgds_free_stream(), other;
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    other = mgds_free_stream();
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.EventRecord(e, other));
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    OK(cu.EventRecord(e, s));
    OK(cu.EventSynchronize(e));
}

/* "cuStreamWaitEvent: hEvent may be from a different context or device". */
static void stream_waits_for_an_event_of_another_device(void)
{
    CUstream a = mgds_free_stream(), b;
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    mgds_hwqueue_hold(gate, a);
    OK(cu.EventRecord(e, a));
    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    b = mgds_free_stream();
    OK(cu.StreamWaitEvent(b, e, 0));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(b));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(b));
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
}

static void many_waits_on_one_event_all_pass(void)
{
    CUstream a = mgds_free_stream(), s[6];
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUdeviceptr words = mgds_zeroed(24);

    mgds_hwqueue_hold(gate, a);
    OK(cu.EventRecord(e, a));
    for (unsigned i = 0; i < 6; i++) {
        s[i] = mgds_free_stream();
        OK(cu.StreamWaitEvent(s[i], e, 0));
        OK(cu.MemsetD32Async(words + 4 * (CUdeviceptr)i, i + 1, 1, s[i]));
    }
    mgds_chance();
    for (unsigned i = 0; i < 6; i++)
        EXPECT_EQ(0, mgds_peek(words + 4 * (CUdeviceptr)i));
    mgds_hwqueue_open(gate);
    for (unsigned i = 0; i < 6; i++) {
        OK(cu.StreamSynchronize(s[i]));
        EXPECT_EQ(i + 1, mgds_peek(words + 4 * (CUdeviceptr)i));
    }
}

static void wait_flags_are_checked(void)
{
    CUstream s = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.StreamWaitEvent(s, e, 0x40));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.StreamWaitEvent(s, NULL, 0));
}

const struct mgds_case mgds_cases_event[] = {
    CASE(unrecorded_event_is_ready),
    CASE(event_recorded_after_copy_is_not_ready_before_it, NEED_MEMOPS),
    CASE(event_synchronize_waits_for_the_record, NEED_MEMOPS),
    CASE(blocking_sync_event_waits_too, NEED_MEMOPS),
    CASE(stream_waits_for_an_event_of_another, NEED_MEMOPS),
    CASE(wait_for_an_unrecorded_event_is_none, NEED_MEMOPS),
    CASE(wait_uses_the_record_at_its_call, NEED_MEMOPS),
    CASE(recorded_again_event_is_not_ready_again, NEED_MEMOPS),
    CASE(destroyed_event_still_orders_its_waits, NEED_MEMOPS),
    CASE(elapsed_time_lies_between_its_events),
    CASE(elapsed_time_of_an_unfinished_event_is_not_ready, NEED_MEMOPS),
    CASE(elapsed_time_needs_timing_and_records),
    CASE(event_flags_are_checked),
    CASE(event_and_stream_must_share_a_context, NEED_2DEV),
    CASE(stream_waits_for_an_event_of_another_device, NEED_2DEV | NEED_MEMOPS),
    CASE(many_waits_on_one_event_all_pass, NEED_MEMOPS),
    CASE(wait_flags_are_checked),
    CASE_END,
};
