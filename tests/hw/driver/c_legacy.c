/* The legacy and the per-thread default streams ("Stream synchronization
 * behavior" of the Driver API): the legacy stream waits for all blocking
 * streams of its context, and they for it; non-blocking ones take no part. */
#include <string.h>

#include "case.h"

struct words {
    CUdeviceptr x, y;
};

static struct words words(void)
{
    struct words w = {mgds_zeroed(4), mgds_zeroed(4)};

    return w;
}

/* `first`, held, sets x; `second` copies x to y. Ordered streams give y the
 * new x; the state after the release decides, not when things ran. */
static void expect_ordered(CUstream first, CUstream second)
{
    struct words w = words();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, first);
    OK(cu.MemsetD32Async(w.x, 1, 1, first));
    OK(cu.MemcpyDtoDAsync(w.y, w.x, 4, second));
    mgds_chance();
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(second));
    OK(cu.StreamSynchronize(first));
    EXPECT_EQ(1, mgds_peek(w.y));
}

static void sync_task(void *stream)
{
    OK(cu.StreamSynchronize(stream));
}

static void event_task(void *event)
{
    OK(cu.EventSynchronize(event));
}

/* `second` finishes its work although `first` is held. */
static void expect_independent(CUstream first, CUstream second)
{
    CUevent done = mgds_event(CU_EVENT_DISABLE_TIMING);
    struct words w = words();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, first);
    OK(cu.MemsetD32Async(w.x, 1, 1, second));
    /* Not the stream itself: per-thread means another one over there. */
    OK(cu.EventRecord(done, second));
    mgds_expect_returns(gate, "work of the other stream", event_task, done);
    EXPECT_EQ(1, mgds_peek(w.x));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(first));
}

static void legacy_work_waits_for_blocking_streams(void)
{
    expect_ordered(mgds_stream(CU_STREAM_DEFAULT), NULL);
}

static void blocking_stream_waits_for_legacy_work(void)
{
    expect_ordered(NULL, mgds_stream(CU_STREAM_DEFAULT));
}

static void nonblocking_stream_ignores_legacy_work(void)
{
    expect_independent(NULL, mgds_free_stream());
}

static void legacy_work_ignores_nonblocking_streams(void)
{
    expect_independent(mgds_free_stream(), NULL);
}

static void legacy_handle_is_the_null_stream(void)
{
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, CU_STREAM_LEGACY);
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(NULL));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(CU_STREAM_LEGACY));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(NULL));
}

/* Work in the legacy stream parts what blocking streams do before and after:
 * b waits for a's work although it never names a. */
static void legacy_work_orders_two_blocking_streams(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT);
    CUstream b = mgds_stream(CU_STREAM_DEFAULT);
    struct words w = words();
    CUdeviceptr other = mgds_zeroed(4);
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(w.x, 1, 1, a));
    OK(cu.MemsetD32Async(other, 2, 1, NULL));
    OK(cu.MemcpyDtoDAsync(w.y, w.x, 4, b));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(other));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(b));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(b));
    EXPECT_EQ(1, mgds_peek(w.y));
    EXPECT_EQ(2, mgds_peek(other));
}

static void event_in_the_legacy_stream_covers_blocking_streams(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT), n = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    struct words w = words();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(w.x, 1, 1, a));
    OK(cu.EventRecord(e, NULL));
    OK(cu.StreamWaitEvent(n, e, 0));
    OK(cu.MemcpyDtoDAsync(w.y, w.x, 4, n));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(n));
    EXPECT_EQ(1, mgds_peek(w.y));
}

/* Programming Guide, "Prohibited and Unhandled Operations": the legacy handle
 * at all times encompasses the blocking streams, so asking or synchronizing it
 * asks or synchronizes them. */
static void legacy_synchronize_waits_for_blocking_streams(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT);
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, a);
    mgds_expect_blocked(gate, "cuStreamSynchronize of the legacy stream",
                        sync_task, NULL);
    OK(cu.StreamSynchronize(a));
}

static void legacy_query_looks_at_blocking_streams(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT);
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, a);
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(NULL));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(a));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(NULL));
}

static void legacy_streams_of_two_devices_are_apart(void)
{
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, NULL);
    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    struct words w = words();
    OK(cu.MemsetD32Async(w.x, 4, 1, NULL));
    mgds_expect_returns(gate, "synchronize of the other device's legacy stream",
                        sync_task, NULL);
    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(NULL));
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(NULL));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(NULL));
}

static void per_thread_stream_waits_for_legacy_work(void)
{
    expect_ordered(NULL, CU_STREAM_PER_THREAD);
}

static void legacy_work_waits_for_the_per_thread_stream(void)
{
    expect_ordered(CU_STREAM_PER_THREAD, NULL);
}

static void per_thread_stream_is_independent_of_blocking_streams(void)
{
    expect_independent(mgds_stream(CU_STREAM_DEFAULT), CU_STREAM_PER_THREAD);
}

static void own_stream_task(void *arg)
{
    CUdeviceptr *word = arg;

    OK(cu.MemsetD32Async(*word, 8, 1, CU_STREAM_PER_THREAD));
    OK(cu.StreamSynchronize(CU_STREAM_PER_THREAD));
}

static void threads_have_different_per_thread_streams(void)
{
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(4);

    mgds_hwqueue_hold(gate, CU_STREAM_PER_THREAD);
    mgds_expect_returns(gate, "another thread's per-thread stream",
                        own_stream_task, &word);
    EXPECT_EQ(8, mgds_peek(word));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(CU_STREAM_PER_THREAD));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(CU_STREAM_PER_THREAD));
}

/* The per-thread form of a call takes stream 0 as CU_STREAM_PER_THREAD. */
static void per_thread_calls_take_null_as_their_own_stream(void)
{
    PFN_cuStreamQuery_v7000_ptsz query = NULL;
    CUdriverProcAddressQueryResult status;
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    void *found = NULL;

    OK(cu.GetProcAddress("cuStreamQuery", &found, 7000,
                         CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                         &status));
    MUST(found != NULL);
    memcpy(&query, &found, sizeof(query));
    mgds_hwqueue_hold(gate, CU_STREAM_PER_THREAD);
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, query(NULL));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT_CU(CUDA_SUCCESS, query(NULL));
}

struct copy {
    uint32_t *host;
    CUdeviceptr device;
};

static void copy_task(void *arg)
{
    struct copy *c = arg;

    OK(cu.MemcpyDtoH(c->host, c->device, 4));
}

static void synchronous_copy_waits_for_blocking_streams(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t got = 0;
    struct copy c = {&got, mgds_zeroed(4)};

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(c.device, 3, 1, a));
    mgds_expect_blocked(gate, "cuMemcpyDtoH", copy_task, &c);
    EXPECT_EQ(3, got);
    OK(cu.StreamSynchronize(a));
}

/* Measured: it is work of the legacy stream, so it does not wait. */
static void synchronous_copy_ignores_nonblocking_streams(void)
{
    CUstream a = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t got = 9;
    struct copy c = {&got, mgds_zeroed(4)};

    mgds_hwqueue_hold(gate, a);
    mgds_expect_returns(gate, "cuMemcpyDtoH", copy_task, &c);
    EXPECT_EQ(0, got);
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(a));
}

static void memset_task(void *arg)
{
    OK(cu.MemsetD32(*(CUdeviceptr *)arg, 5, 1));
}

/* "API synchronization behavior": memsets are asynchronous for the host
 * unless the target is pinned or managed memory. */
static void memset_of_device_memory_does_not_wait_for_the_device(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(4);

    mgds_hwqueue_hold(gate, a);
    mgds_expect_returns(gate, "cuMemsetD32", memset_task, &word);
    EXPECT_EQ(0, mgds_peek(word));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(NULL));
    EXPECT_EQ(5, mgds_peek(word));
}

static void device_copy_task(void *arg)
{
    struct words *w = arg;

    OK(cu.MemcpyDtoD(w->y, w->x, 4));
}

/* "For transfers from device memory to device memory, no host-side
 * synchronization is performed." */
static void device_to_device_copy_does_not_wait_for_the_device(void)
{
    CUstream a = mgds_stream(CU_STREAM_DEFAULT);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    struct words w = words();

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(w.x, 5, 1, a));
    mgds_expect_returns(gate, "cuMemcpyDtoD", device_copy_task, &w);
    EXPECT_EQ(0, mgds_peek(w.y));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(NULL));
    EXPECT_EQ(5, mgds_peek(w.y));
}

const struct mgds_case mgds_cases_legacy[] = {
    CASE(legacy_work_waits_for_blocking_streams, NEED_MEMOPS),
    CASE(blocking_stream_waits_for_legacy_work, NEED_MEMOPS),
    CASE(nonblocking_stream_ignores_legacy_work, NEED_MEMOPS),
    CASE(legacy_work_ignores_nonblocking_streams, NEED_MEMOPS),
    CASE(legacy_handle_is_the_null_stream, NEED_MEMOPS),
    CASE(legacy_work_orders_two_blocking_streams, NEED_MEMOPS),
    CASE(event_in_the_legacy_stream_covers_blocking_streams, NEED_MEMOPS),
    CASE(legacy_synchronize_waits_for_blocking_streams, NEED_MEMOPS),
    CASE(legacy_query_looks_at_blocking_streams, NEED_MEMOPS),
    CASE(legacy_streams_of_two_devices_are_apart, NEED_MEMOPS | NEED_2DEV),
    CASE(per_thread_stream_waits_for_legacy_work, NEED_MEMOPS),
    CASE(legacy_work_waits_for_the_per_thread_stream, NEED_MEMOPS),
    CASE(per_thread_stream_is_independent_of_blocking_streams, NEED_MEMOPS),
    CASE(threads_have_different_per_thread_streams, NEED_MEMOPS),
    CASE(per_thread_calls_take_null_as_their_own_stream, NEED_MEMOPS),
    CASE(synchronous_copy_waits_for_blocking_streams, NEED_MEMOPS),
    CASE(synchronous_copy_ignores_nonblocking_streams, NEED_MEMOPS),
    CASE(memset_of_device_memory_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE(device_to_device_copy_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE_END,
};
