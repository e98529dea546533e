/* Capture and threads: the three modes, which calls of which threads they
 * refuse, who may end a capture (Driver API, cuStreamBeginCapture,
 * cuThreadExchangeStreamCaptureMode). */
#include "case.h"
#include "graph.h"

#define GLOBAL CU_STREAM_CAPTURE_MODE_GLOBAL
#define LOCAL CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#define RELAXED CU_STREAM_CAPTURE_MODE_RELAXED

struct end {
    CUstream stream;
    int rc;
};

static void end_task(void *arg)
{
    struct end *e = arg;
    CUgraph graph;

    e->rc = (int)cu.StreamEndCapture(e->stream, &graph);
}

static void thread_ends_its_own_captures_only(void)
{
    CUstream s = mgds_free_stream();
    struct end e = {s, -1};
    struct mgds_task task;
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, LOCAL));
    mgds_task_start(&task, end_task, &e);
    mgds_task_join(&task);
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, e.rc);
    /* H200, driver 580: the capture is over all the same. */
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, mgds_capture_status(s));
    (void)cu.StreamEndCapture(s, &graph);
}

static void relaxed_capture_ends_in_any_thread(void)
{
    CUstream s = mgds_free_stream();
    struct end e = {s, -1};
    struct mgds_task task;

    OK(cu.StreamBeginCapture(s, RELAXED));
    mgds_task_start(&task, end_task, &e);
    mgds_task_join(&task);
    EXPECT_CU(CUDA_SUCCESS, e.rc);
}

/* Calls that may wait for the device are unsafe while a capture runs that
 * could be what they wait for: refused to the capturing thread unless
 * relaxed, and to all threads if global. */
static void unsafe_call_in_the_capturing_thread_is_refused(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at = 0;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.MemAlloc(&at, 4096));
    mgds_expect_spoilt(s);
}

static void relaxed_capture_allows_unsafe_calls(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at = 0;
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, RELAXED));
    EXPECT_CU(CUDA_SUCCESS, cu.MemAlloc(&at, 4096));
    EXPECT_CU(CUDA_SUCCESS, cu.MemFree(at));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
}

/* What another thread gets while this one captures. */
struct probe {
    CUevent event;
    int rc;
    CUstream stream;
};

static void query_task(void *arg)
{
    struct probe *p = arg;

    p->rc = (int)cu.EventQuery(p->event);
}

/* Of a stream that has nothing to do with the capture. */
static void sync_task(void *arg)
{
    struct probe *p = arg;

    p->rc = (int)cu.StreamSynchronize(p->stream);
}

static void alloc_task(void *arg)
{
    struct probe *p = arg;
    CUdeviceptr at;

    p->rc = (int)cu.MemAlloc(&at, 4096);
    if (p->rc == CUDA_SUCCESS)
        OK(cu.MemFree(at));
}

static int in_another_thread(void (*run)(void *), CUevent event)
{
    struct probe p = {event, -1, mgds_free_stream()};
    struct mgds_task task;

    mgds_task_start(&task, run, &p);
    mgds_task_join(&task);
    return p.rc;
}

static void global_capture_refuses_other_threads_queries(void)
{
    CUstream s = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.StreamBeginCapture(s, GLOBAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              in_another_thread(query_task, e));
    mgds_expect_spoilt(s);
}

static void global_capture_refuses_other_threads_allocations(void)
{
    CUstream s = mgds_free_stream();

    OK(cu.StreamBeginCapture(s, GLOBAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              in_another_thread(alloc_task, NULL));
    mgds_expect_spoilt(s);
}

static void global_capture_refuses_to_wait_for_other_streams(void)
{
    CUstream s = mgds_free_stream();

    OK(cu.StreamBeginCapture(s, GLOBAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              in_another_thread(sync_task, NULL));
    mgds_expect_spoilt(s);
}

static void capturing_thread_asks_of_no_stream(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.StreamQuery(other));
    mgds_expect_spoilt(s);
}

static void capturing_thread_allocates_on_no_stream(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    CUdeviceptr at;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              cu.MemAllocAsync(&at, 4096, other));
    mgds_expect_spoilt(s);
}

static void thread_local_capture_leaves_other_threads_alone(void)
{
    CUstream s = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_SUCCESS, in_another_thread(query_task, e));
    EXPECT_CU(CUDA_SUCCESS, in_another_thread(alloc_task, NULL));
    EXPECT_CU(CUDA_SUCCESS, in_another_thread(sync_task, NULL));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
}

static void exchanged_mode_allows_an_unsafe_call(void)
{
    CUstream s = mgds_free_stream();
    CUstreamCaptureMode mode = RELAXED;
    CUdeviceptr at;
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.ThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(GLOBAL, mode);
    EXPECT_CU(CUDA_SUCCESS, cu.MemAlloc(&at, 4096));
    OK(cu.ThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(RELAXED, mode);
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
    OK(cu.MemFree(at));
}

/* What a library does beside a capture that it is no part of. */
static void exchanged_mode_leaves_a_global_capture_alone(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUstreamCaptureMode mode = RELAXED;
    CUgraph graph = NULL;
    CUdeviceptr at = 0;

    OK(cu.StreamBeginCapture(s, GLOBAL));
    OK(cu.ThreadExchangeStreamCaptureMode(&mode));
    EXPECT_CU(CUDA_SUCCESS, cu.MemAlloc(&at, 4096));
    EXPECT_CU(CUDA_SUCCESS, cu.EventRecord(e, other));
    EXPECT_CU(CUDA_SUCCESS, cu.EventSynchronize(e));
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(other));
    EXPECT_CU(CUDA_SUCCESS, cu.MemFree(at));
    OK(cu.ThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(RELAXED, mode);
    EXPECT_CU(CUDA_SUCCESS, cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
}

static void exchange_and_query_task(void *arg)
{
    struct probe *p = arg;
    CUstreamCaptureMode mode = RELAXED;
    CUcontext ctx;

    OK(cu.CtxGetCurrent(&ctx));
    EXPECT_EQ(1, ctx == NULL);
    OK(cu.ThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(GLOBAL, mode);
    p->rc = (int)cu.EventQuery(p->event);
    OK(cu.ThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(RELAXED, mode);
}

/* The mode is the thread's, whatever context it is in. */
static void mode_is_exchanged_without_a_context(void)
{
    CUstream s = mgds_free_stream();
    struct probe p = {mgds_event(CU_EVENT_DISABLE_TIMING), -1, NULL};
    struct mgds_task task;
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, GLOBAL));
    mgds_task_start_bare(&task, exchange_and_query_task, &p);
    mgds_task_join(&task);
    EXPECT_CU(CUDA_SUCCESS, p.rc);
    EXPECT_CU(CUDA_SUCCESS, cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
}

const struct mgds_case mgds_cases_capmode[] = {
    CASE(thread_ends_its_own_captures_only, 0, ALONE),
    CASE(relaxed_capture_ends_in_any_thread),
    CASE(unsafe_call_in_the_capturing_thread_is_refused),
    CASE(relaxed_capture_allows_unsafe_calls),
    CASE(global_capture_refuses_other_threads_queries),
    CASE(global_capture_refuses_other_threads_allocations),
    CASE(global_capture_refuses_to_wait_for_other_streams),
    CASE(capturing_thread_asks_of_no_stream),
    CASE(capturing_thread_allocates_on_no_stream),
    CASE(thread_local_capture_leaves_other_threads_alone),
    CASE(exchanged_mode_allows_an_unsafe_call),
    CASE(exchanged_mode_leaves_a_global_capture_alone),
    CASE(mode_is_exchanged_without_a_context),
    CASE_END,
};
