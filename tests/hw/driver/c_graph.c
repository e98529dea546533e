/* Graphs: replay, order, life times (Driver API, "Graph Management"). */
#include "graph.h"

#include <stdatomic.h>

#include "case.h"

#define LOCAL CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

CUgraphExec mgds_graph_exec(CUgraph graph)
{
    CUgraphExec exec;

    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphDestroy(graph));
    return exec;
}

CUgraphExec mgds_graph_captured(CUstream stream)
{
    CUgraph graph;

    OK(cu.StreamEndCapture(stream, &graph));
    return mgds_graph_exec(graph);
}

static void CUDA_CB count(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void graph_is_replayed_as_often_as_launched(void)
{
    CUstream s = mgds_free_stream();
    static atomic_int calls;
    CUgraphExec exec;

    atomic_store(&calls, 0);
    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.LaunchHostFunc(s, count, &calls));
    exec = mgds_graph_captured(s);
    EXPECT_EQ(0, atomic_load(&calls));
    for (int i = 0; i < 10; i++)
        OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(10, atomic_load(&calls));
    OK(cu.GraphExecDestroy(exec));
}

/* A copy node reads its source when it runs. */
static void replay_reads_memory_afresh(void)
{
    CUstream s = mgds_free_stream();
    uint32_t *from = mgds_pinned(4), *to = mgds_pinned(4);
    CUdeviceptr word = mgds_zeroed(4);
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemcpyHtoDAsync(word, from, 4, s));
    OK(cu.MemcpyDtoHAsync(to, word, 4, s));
    exec = mgds_graph_captured(s);
    for (uint32_t i = 1; i < 6; i++) {
        *from = i;
        OK(cu.GraphLaunch(exec, s));
        OK(cu.StreamSynchronize(s));
        EXPECT_EQ(i, *to);
    }
    OK(cu.GraphExecDestroy(exec));
}

static void graph_launch_is_in_stream_order(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(8);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemcpyDtoDAsync(word + 4, word, 4, s));
    exec = mgds_graph_captured(s);
    mgds_hwqueue_hold(gate, s);
    OK(cu.MemsetD32Async(word, 1, 1, s));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.MemsetD32Async(word, 2, 1, s));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek64(word));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x100000002, mgds_peek64(word));
    OK(cu.GraphExecDestroy(exec));
}

static void graph_of_memory_operations_waits_and_writes(void)
{
    CUstream s = mgds_free_stream();
    _Atomic uint32_t *word = mgds_pinned(8);
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.StreamWaitValue32(s, mgds_address(&word[0]), 1,
                            CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.StreamWriteValue32(s, mgds_address(&word[1]), 7, 0));
    exec = mgds_graph_captured(s);
    OK(cu.GraphLaunch(exec, s));
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&word[1]));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    atomic_store(&word[0], 1);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(7, atomic_load(&word[1]));
    atomic_store(&word[1], 0);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(7, atomic_load(&word[1]));
    OK(cu.GraphExecDestroy(exec));
}

static void captured_batch_becomes_one_node(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(16);
    CUstreamBatchMemOpParams ops[2] = {0};
    CUgraphNodeType type = 99;
    CUgraphNode node;
    CUgraphExec exec;
    CUgraph graph;
    size_t nodes = 0;

    for (unsigned i = 0; i < 2; i++) {
        ops[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        ops[i].writeValue.address = words + 4 * (CUdeviceptr)i;
        ops[i].writeValue.value = i + 1;
    }
    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.StreamBatchMemOp(s, 2, ops, 0));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphGetNodes(graph, NULL, &nodes));
    EXPECT_EQ(1, nodes);
    nodes = 1;
    OK(cu.GraphGetNodes(graph, &node, &nodes));
    OK(cu.GraphNodeGetType(node, &type));
    EXPECT_EQ(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, type);
    exec = mgds_graph_exec(graph);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x200000001, mgds_peek64(words));
    OK(cu.GraphExecDestroy(exec));
}

static CUgraphNode batch_node(CUgraph graph, CUcontext ctx,
                              CUstreamBatchMemOpParams *op)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {ctx, 1, op, 0};
    CUgraphNode node;

    OK(cu.GraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    return node;
}

static void batch_node_takes_new_values(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUcontext ctx = mgds_env_ctx(0);
    CUstreamBatchMemOpParams op = {0};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {ctx, 1, &op, 0};
    CUgraphNode node;
    CUgraphExec exec;
    CUgraph graph;

    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = word;
    op.writeValue.value = 1;
    OK(cu.GraphCreate(&graph, 0));
    node = batch_node(graph, ctx, &op);
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek(word));
    op.writeValue.value = 2;
    OK(cu.GraphExecBatchMemOpNodeSetParams(exec, node, &params));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(2, mgds_peek(word));
    OK(cu.GraphExecDestroy(exec));
    OK(cu.GraphDestroy(graph));
}

/* "Each launch is ordered behind ... any previous launches of this graph
 * exec": even on different streams. */
static void launches_of_one_exec_do_not_overlap(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    _Atomic uint32_t *word = mgds_pinned(8);
    static atomic_int calls;
    CUgraphExec exec;

    atomic_store(&calls, 0);
    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.LaunchHostFunc(a, count, &calls));
    OK(cu.StreamWaitValue32(a, mgds_address(&word[0]), 1,
                            CU_STREAM_WAIT_VALUE_GEQ));
    exec = mgds_graph_captured(a);
    OK(cu.GraphLaunch(exec, a));
    OK(cu.GraphLaunch(exec, b));
    while (atomic_load(&calls) == 0)
        sched_yield();
    mgds_chance();
    EXPECT_EQ(1, atomic_load(&calls));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(b));
    atomic_store(&word[0], 1);
    OK(cu.StreamSynchronize(a));
    OK(cu.StreamSynchronize(b));
    EXPECT_EQ(2, atomic_load(&calls));
    OK(cu.GraphExecDestroy(exec));
}

/* "Destroying an executable graph in flight": it ends its work first. */
static void destroyed_exec_in_flight_still_does_its_work(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(word, 6, 1, s));
    exec = mgds_graph_captured(s);
    mgds_hwqueue_hold(gate, s);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.GraphExecDestroy(exec));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(word));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(6, mgds_peek(word));
}

static CUgraph memset_graph(CUstream s, CUdeviceptr word, uint32_t value)
{
    CUgraph graph;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(word, value, 1, s));
    OK(cu.StreamEndCapture(s, &graph));
    return graph;
}

/* A launch keeps the parameters it was launched with. */
static void update_in_flight_counts_for_the_next_launch(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4), seen = mgds_zeroed(4);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUgraphExec exec = mgds_graph_exec(memset_graph(s, word, 1));
    CUgraph changed = memset_graph(s, word, 2);
    CUgraphExecUpdateResultInfo info;

    mgds_hwqueue_hold(gate, s);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.MemcpyDtoDAsync(seen, word, 4, s));
    OK(cu.GraphExecUpdate(exec, changed, &info));
    EXPECT_EQ(CU_GRAPH_EXEC_UPDATE_SUCCESS, info.result);
    mgds_hwqueue_open(gate);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek(seen));
    EXPECT_EQ(2, mgds_peek(word));
    OK(cu.GraphExecDestroy(exec));
    OK(cu.GraphDestroy(changed));
}

static void update_refuses_another_topology(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraphExec exec = mgds_graph_exec(memset_graph(s, word, 1));
    CUgraphExecUpdateResultInfo info = {0};
    CUgraph changed;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(word, 2, 1, s));
    OK(cu.MemsetD32Async(word, 3, 1, s));
    OK(cu.StreamEndCapture(s, &changed));
    EXPECT_CU(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
              cu.GraphExecUpdate(exec, changed, &info));
    EXPECT(info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS);
    /* The exec is as it was. */
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek(word));
    OK(cu.GraphExecDestroy(exec));
    OK(cu.GraphDestroy(changed));
}

/* A graph's branches do not depend on each other. */
static void branches_of_a_graph_are_independent(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent fork = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUevent join = mgds_event(CU_EVENT_DISABLE_TIMING);
    _Atomic uint32_t *word = mgds_pinned(8);
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.EventRecord(fork, a));
    OK(cu.StreamWaitEvent(b, fork, 0));
    OK(cu.StreamWaitValue32(a, mgds_address(&word[0]), 1,
                            CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.StreamWriteValue32(b, mgds_address(&word[1]), 5, 0));
    OK(cu.EventRecord(join, b));
    OK(cu.StreamWaitEvent(a, join, 0));
    exec = mgds_graph_captured(a);
    OK(cu.GraphLaunch(exec, a));
    while (atomic_load(&word[1]) != 5)
        sched_yield();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(a));
    atomic_store(&word[0], 1);
    OK(cu.StreamSynchronize(a));
    OK(cu.GraphExecDestroy(exec));
}

/* Captures a diamond into `a`: root, two branches, end. The words: [0] lets
 * the root go, [1] lets branch b go, [2] and [3] are written by the branches,
 * [4] by the end. */
static CUgraphExec diamond(CUstream a, CUstream b, _Atomic uint32_t *word)
{
    CUevent fork = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUevent join = mgds_event(CU_EVENT_DISABLE_TIMING);

    OK(cu.StreamBeginCapture(a, LOCAL));
    OK(cu.StreamWaitValue32(a, mgds_address(&word[0]), 1,
                            CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.EventRecord(fork, a));
    OK(cu.StreamWaitEvent(b, fork, 0));
    OK(cu.StreamWriteValue32(a, mgds_address(&word[2]), 2, 0));
    OK(cu.StreamWaitValue32(b, mgds_address(&word[1]), 1,
                            CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.StreamWriteValue32(b, mgds_address(&word[3]), 3, 0));
    OK(cu.EventRecord(join, b));
    OK(cu.StreamWaitEvent(a, join, 0));
    OK(cu.StreamWriteValue32(a, mgds_address(&word[4]), 4, 0));
    return mgds_graph_captured(a);
}

static void branches_wait_for_what_is_before_the_fork(void)
{
    CUstream a = mgds_free_stream();
    _Atomic uint32_t *word = mgds_pinned(20);
    CUgraphExec exec = diamond(a, mgds_free_stream(), word);

    atomic_store(&word[1], 1);
    OK(cu.GraphLaunch(exec, a));
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&word[2]));
    EXPECT_EQ(0, atomic_load(&word[3]));
    atomic_store(&word[0], 1);
    OK(cu.StreamSynchronize(a));
    EXPECT_EQ(2, atomic_load(&word[2]));
    EXPECT_EQ(3, atomic_load(&word[3]));
    EXPECT_EQ(4, atomic_load(&word[4]));
    OK(cu.GraphExecDestroy(exec));
}

static void join_waits_for_every_branch(void)
{
    CUstream a = mgds_free_stream();
    _Atomic uint32_t *word = mgds_pinned(20);
    CUgraphExec exec = diamond(a, mgds_free_stream(), word);

    atomic_store(&word[0], 1);
    OK(cu.GraphLaunch(exec, a));
    while (atomic_load(&word[2]) != 2)
        sched_yield();
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&word[4]));
    atomic_store(&word[1], 1);
    OK(cu.StreamSynchronize(a));
    EXPECT_EQ(3, atomic_load(&word[3]));
    EXPECT_EQ(4, atomic_load(&word[4]));
    OK(cu.GraphExecDestroy(exec));
}

static void graph_is_a_template_the_exec_its_copy(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraph graph = memset_graph(s, word, 3);
    CUgraphExec one, two;

    OK(cu.GraphInstantiateWithFlags(&one, graph, 0));
    OK(cu.GraphInstantiateWithFlags(&two, graph, 0));
    OK(cu.GraphDestroy(graph));
    OK(cu.GraphLaunch(one, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(3, mgds_peek(word));
    OK(cu.GraphExecDestroy(one));
    mgds_poke(word, 0);
    OK(cu.GraphUpload(two, s));
    OK(cu.GraphLaunch(two, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(3, mgds_peek(word));
    OK(cu.GraphExecDestroy(two));
}

/* H200, driver 580. */
static void launching_while_capturing_is_refused(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraphExec inner = mgds_graph_exec(memset_graph(s, word, 3));
    CUgraph graph = NULL;

    OK(cu.StreamBeginCapture(s, LOCAL));
    EXPECT_CU(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.GraphLaunch(inner, s));
    mgds_case_note("status after cuGraphLaunch while capturing: %d",
                   (int)mgds_capture_status(s));
    (void)cu.StreamEndCapture(s, &graph);
    EXPECT_EQ(0, mgds_peek(word));
}

static void null_graphs_are_refused(void)
{
    CUstream s = mgds_free_stream();
    CUgraphExec exec;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.GraphLaunch(NULL, s));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.GraphInstantiateWithFlags(&exec, NULL, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.GraphDestroy(NULL));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.GraphExecDestroy(NULL));
}

const struct mgds_case mgds_cases_graph[] = {
    CASE(graph_is_replayed_as_often_as_launched),
    CASE(replay_reads_memory_afresh),
    CASE(graph_launch_is_in_stream_order, NEED_MEMOPS),
    CASE(graph_of_memory_operations_waits_and_writes, NEED_MEMOPS),
    CASE(captured_batch_becomes_one_node, NEED_MEMOPS),
    CASE(batch_node_takes_new_values, NEED_MEMOPS),
    CASE(launches_of_one_exec_do_not_overlap, NEED_MEMOPS),
    CASE(destroyed_exec_in_flight_still_does_its_work, NEED_MEMOPS),
    CASE(update_in_flight_counts_for_the_next_launch, NEED_MEMOPS),
    CASE(update_refuses_another_topology),
    CASE(branches_of_a_graph_are_independent, NEED_MEMOPS),
    CASE(branches_wait_for_what_is_before_the_fork, NEED_MEMOPS),
    CASE(join_waits_for_every_branch, NEED_MEMOPS),
    CASE(graph_is_a_template_the_exec_its_copy),
    CASE(launching_while_capturing_is_refused, 0, ALONE),
    CASE(null_graphs_are_refused),
    CASE_END,
};
