/* Stream capture: what is recorded, what is refused, what ends it (Driver
 * API, "Stream Management", capture; Programming Guide, "CUDA Graphs"). */
#include "case.h"
#include "graph.h"

#define LOCAL CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#define RELAXED CU_STREAM_CAPTURE_MODE_RELAXED

CUstreamCaptureStatus mgds_capture_status(CUstream s)
{
    CUstreamCaptureStatus status = 99;

    EXPECT_CU(CUDA_SUCCESS, cu.StreamIsCapturing(s, &status));
    return status;
}

void mgds_expect_spoilt(CUstream s)
{
    CUgraph graph = (CUgraph)&cu;

    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_INVALIDATED, mgds_capture_status(s));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              cu.StreamEndCapture(s, &graph));
    EXPECT(graph == NULL);
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, mgds_capture_status(s));
}

static void captured_work_does_not_run_until_launched(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraphExec exec;
    CUgraph graph;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(word, 5, 1, s));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.StreamSynchronize(s));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(word));
    exec = mgds_graph_exec(graph);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, mgds_peek(word));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(5, mgds_peek(word));
    OK(cu.GraphExecDestroy(exec));
}

static void capture_status_follows_the_capture(void)
{
    CUstream s = mgds_free_stream();
    CUgraph graph = NULL;

    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, mgds_capture_status(s));
    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, mgds_capture_status(s));
    OK(cu.StreamEndCapture(s, &graph));
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, mgds_capture_status(s));
    EXPECT(graph != NULL);
    OK(cu.GraphDestroy(graph));
}

static void empty_capture_gives_an_empty_graph(void)
{
    CUstream s = mgds_free_stream();
    CUgraph graph;
    size_t nodes = 99;
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphGetNodes(graph, NULL, &nodes));
    EXPECT_EQ(0, nodes);
    exec = mgds_graph_exec(graph);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    OK(cu.GraphExecDestroy(exec));
}

static void capture_ids_tell_captures_apart(void)
{
    CUstream s = mgds_free_stream();
    CUstreamCaptureStatus status;
    cuuint64_t ids[2] = {0, 0};

    for (int i = 0; i < 2; i++) {
        CUgraph graph, inside = NULL;

        OK(cu.StreamBeginCapture(s, LOCAL));
        OK(cu.StreamGetCaptureInfo(s, &status, &ids[i], &inside, NULL, NULL));
        EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
        OK(cu.StreamEndCapture(s, &graph));
        EXPECT(inside == graph);
        OK(cu.GraphDestroy(graph));
    }
    EXPECT(ids[0] != ids[1]);
}

static void capture_info_tells_the_last_nodes(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    const CUgraphNode *last = NULL;
    CUstreamCaptureStatus status;
    CUgraphNodeType type = 99;
    CUgraph graph;
    size_t count = 9;
    cuuint64_t id;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.StreamGetCaptureInfo(s, &status, &id, &graph, &last, &count));
    EXPECT_EQ(0, count);
    OK(cu.MemsetD32Async(word, 5, 1, s));
    OK(cu.StreamGetCaptureInfo(s, &status, &id, &graph, &last, &count));
    EXPECT_EQ(1, count);
    OK(cu.GraphNodeGetType(last[0], &type));
    EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEMSET, type);
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
}

/* Fork and join by events: the other stream is drawn into the capture. */
static void event_draws_another_stream_into_the_capture(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent fork = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUevent join = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUdeviceptr x = mgds_zeroed(4), y = mgds_zeroed(4);
    CUgraphExec exec;
    CUgraph graph;

    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.MemsetD32Async(x, 3, 1, a));
    OK(cu.EventRecord(fork, a));
    OK(cu.StreamWaitEvent(b, fork, 0));
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, mgds_capture_status(b));
    OK(cu.MemcpyDtoDAsync(y, x, 4, b));
    OK(cu.EventRecord(join, b));
    OK(cu.StreamWaitEvent(a, join, 0));
    OK(cu.StreamEndCapture(a, &graph));
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, mgds_capture_status(b));
    EXPECT_EQ(0, mgds_peek(y));
    exec = mgds_graph_exec(graph);
    OK(cu.GraphLaunch(exec, b));
    OK(cu.StreamSynchronize(b));
    EXPECT_EQ(3, mgds_peek(y));
    OK(cu.GraphExecDestroy(exec));
}

static void unjoined_stream_spoils_the_end(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent fork = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUdeviceptr x = mgds_zeroed(4);
    CUgraph graph = (CUgraph)&cu;

    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.EventRecord(fork, a));
    OK(cu.StreamWaitEvent(b, fork, 0));
    OK(cu.MemsetD32Async(x, 3, 1, b));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
              cu.StreamEndCapture(a, &graph));
    EXPECT(graph == NULL);
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, mgds_capture_status(a));
    OK(cu.StreamSynchronize(b));
    EXPECT_EQ(0, mgds_peek(x));
}

static void capture_ends_where_it_began(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent fork = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.EventRecord(fork, a));
    OK(cu.StreamWaitEvent(b, fork, 0));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
              cu.StreamEndCapture(b, &graph));
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_INVALIDATED, mgds_capture_status(a));
    (void)cu.StreamEndCapture(a, &graph);
}

static void two_captures_cannot_be_merged(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.StreamBeginCapture(b, LOCAL));
    OK(cu.EventRecord(e, a));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_MERGE, cu.StreamWaitEvent(b, e, 0));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              cu.StreamEndCapture(b, &graph));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              cu.StreamEndCapture(a, &graph));
}

static void captured_stream_cannot_wait_for_uncaptured_work(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.EventRecord(e, b));
    OK(cu.StreamBeginCapture(a, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cu.StreamWaitEvent(a, e, 0));
    mgds_expect_spoilt(a);
}

static void capturing_stream_cannot_be_synchronized(void)
{
    CUstream s = mgds_free_stream();

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.StreamSynchronize(s));
    mgds_expect_spoilt(s);
}

static void capturing_stream_cannot_be_queried(void)
{
    CUstream s = mgds_free_stream();

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.StreamQuery(s));
    mgds_expect_spoilt(s);
}

static void context_cannot_be_synchronized_while_capturing(void)
{
    CUstream s = mgds_free_stream();

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.CtxSynchronize());
    mgds_expect_spoilt(s);
}

static void captured_event_cannot_be_queried(void)
{
    CUstream s = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.EventRecord(e, s));
    EXPECT_CU(CUDA_ERROR_CAPTURED_EVENT, cu.EventQuery(e));
    mgds_expect_spoilt(s);
}

static void captured_event_cannot_be_waited_for_by_the_host(void)
{
    CUstream s = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.EventRecord(e, s));
    EXPECT_CU(CUDA_ERROR_CAPTURED_EVENT, cu.EventSynchronize(e));
    mgds_expect_spoilt(s);
}

static void spoilt_capture_refuses_more_work(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              cu.MemsetD32Async(word, 1, 1, s));
    mgds_expect_spoilt(s);
    OK(cu.MemsetD32Async(word, 2, 1, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(2, mgds_peek(word));
}

static void legacy_stream_cannot_be_captured(void)
{
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              cu.StreamBeginCapture(NULL, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              cu.StreamBeginCapture(CU_STREAM_LEGACY, RELAXED));
}

static void per_thread_stream_can_be_captured(void)
{
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(CU_STREAM_PER_THREAD, LOCAL));
    OK(cu.StreamEndCapture(CU_STREAM_PER_THREAD, &graph));
    EXPECT(graph != NULL);
    OK(cu.GraphDestroy(graph));
}

/* The legacy stream would wait for the capturing one: that is an implicit
 * dependency on captured work. */
static void legacy_work_spoils_the_capture_of_a_blocking_stream(void)
{
    CUstream s = mgds_stream(CU_STREAM_DEFAULT);
    CUdeviceptr word = mgds_zeroed(4);

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              cu.MemsetD32Async(word, 1, 1, NULL));
    mgds_expect_spoilt(s);
}

static void legacy_work_is_no_matter_to_a_nonblocking_capture(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraph graph;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(word, 1, 1, NULL));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
    OK(cu.StreamSynchronize(NULL));
    EXPECT_EQ(1, mgds_peek(word));
}

/* "If this is the legacy stream and a blocking stream is capturing,
 * CUDA_ERROR_STREAM_CAPTURE_IMPLICIT is returned", nothing is spoilt. */
static void asking_the_legacy_stream_while_capturing_is_implicit(void)
{
    CUstream s = mgds_stream(CU_STREAM_DEFAULT);
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              cu.StreamIsCapturing(NULL, &status));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamEndCapture(s, &graph));
    if (graph)
        OK(cu.GraphDestroy(graph));
}

static void end_without_begin_is_an_illegal_state(void)
{
    CUstream s = mgds_free_stream();
    CUgraph graph = NULL;

    EXPECT_CU(CUDA_ERROR_ILLEGAL_STATE, cu.StreamEndCapture(s, &graph));
}

static void second_begin_is_an_illegal_state(void)
{
    CUstream s = mgds_free_stream();
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_ILLEGAL_STATE, cu.StreamBeginCapture(s, LOCAL));
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, mgds_capture_status(s));
    (void)cu.StreamEndCapture(s, &graph);
}

/* H200, driver 580: a synchronous copy is work of the legacy stream, with
 * which a non-blocking one has nothing to do; it is not an unsafe call. */
static void synchronous_copy_is_no_matter_to_a_nonblocking_capture(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    uint32_t got = 9;
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_SUCCESS, cu.MemcpyDtoH(&got, word, 4));
    EXPECT_EQ(0, got);
    EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, mgds_capture_status(s));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphDestroy(graph));
}

static void synchronous_copy_spoils_the_capture_of_a_blocking_stream(void)
{
    CUstream s = mgds_stream(CU_STREAM_DEFAULT);
    CUdeviceptr word = mgds_zeroed(4);
    uint32_t got;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cu.MemcpyDtoH(&got, word, 4));
    mgds_expect_spoilt(s);
}

static void event_of_a_dead_capture_cannot_be_waited_for(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.EventRecord(e, a));
    OK(cu.StreamEndCapture(a, &graph));
    /* H200, driver 580: not CAPTURED_EVENT, which is of a running capture. */
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.EventQuery(e));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.StreamWaitEvent(b, e, 0));
    /* A record outside gives it a meaning again. */
    OK(cu.EventRecord(e, b));
    OK(cu.EventSynchronize(e));
    OK(cu.GraphDestroy(graph));
}

static void capturing_stream_may_be_destroyed(void)
{
    CUstream s;
    CUresult rc;

    OK(cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cu.StreamBeginCapture(s, LOCAL));
    rc = cu.StreamDestroy(s);
    mgds_case_note("cuStreamDestroy while capturing gives %d", (int)rc);
    EXPECT_CU(CUDA_SUCCESS, rc);
}

static void CUDA_CB reply(CUstream stream, CUresult status, void *arg)
{
    (void)stream;
    (void)status;
    (void)arg;
}

/* cuStreamAddCallback: "this function is not supported with ... capture". */
static void callback_cannot_be_captured(void)
{
    CUstream s = mgds_free_stream();

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              cu.StreamAddCallback(s, reply, NULL, 0));
    mgds_expect_spoilt(s);
}

/* The exception: going into and out of capture cuts the order between what
 * was enqueued before and what is captured. */
static void capture_does_not_wait_for_the_work_before_it(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraphExec exec;
    CUgraph graph;

    mgds_hwqueue_hold(gate, s);
    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(word, 5, 1, s));
    OK(cu.StreamEndCapture(s, &graph));
    exec = mgds_graph_exec(graph);
    OK(cu.GraphLaunch(exec, other));
    OK(cu.StreamSynchronize(other));
    EXPECT_EQ(5, mgds_peek(word));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    OK(cu.GraphExecDestroy(exec));
}

const struct mgds_case mgds_cases_capture[] = {
    CASE(captured_work_does_not_run_until_launched),
    CASE(capture_status_follows_the_capture),
    CASE(empty_capture_gives_an_empty_graph),
    CASE(capture_ids_tell_captures_apart),
    CASE(capture_info_tells_the_last_nodes),
    CASE(event_draws_another_stream_into_the_capture),
    CASE(unjoined_stream_spoils_the_end),
    CASE(capture_ends_where_it_began),
    CASE(two_captures_cannot_be_merged),
    CASE(captured_stream_cannot_wait_for_uncaptured_work),
    CASE(capturing_stream_cannot_be_synchronized),
    CASE(capturing_stream_cannot_be_queried),
    CASE(context_cannot_be_synchronized_while_capturing),
    CASE(captured_event_cannot_be_queried),
    CASE(captured_event_cannot_be_waited_for_by_the_host),
    CASE(spoilt_capture_refuses_more_work),
    CASE(legacy_stream_cannot_be_captured),
    CASE(per_thread_stream_can_be_captured),
    CASE(legacy_work_spoils_the_capture_of_a_blocking_stream),
    CASE(legacy_work_is_no_matter_to_a_nonblocking_capture),
    CASE(asking_the_legacy_stream_while_capturing_is_implicit),
    CASE(end_without_begin_is_an_illegal_state),
    CASE(second_begin_is_an_illegal_state),
    CASE(synchronous_copy_is_no_matter_to_a_nonblocking_capture),
    CASE(synchronous_copy_spoils_the_capture_of_a_blocking_stream),
    CASE(event_of_a_dead_capture_cannot_be_waited_for),
    CASE(capturing_stream_may_be_destroyed, 0, ALONE),
    CASE(callback_cannot_be_captured),
    CASE(capture_does_not_wait_for_the_work_before_it, NEED_MEMOPS),
    CASE_END,
};
