/* Graphs built by hand, events inside graphs, user objects. */
#include <stdatomic.h>

#include "case.h"
#include "graph.h"

#define LOCAL CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

static CUgraphNode memset_node(CUgraph graph, CUgraphNode *after,
                               CUdeviceptr word, unsigned value)
{
    CUDA_MEMSET_NODE_PARAMS params = {word, 4, value, 4, 1, 1};
    CUgraphNode node;

    OK(cu.GraphAddMemsetNode(&node, graph, after, after ? 1 : 0, &params,
                             mgds_env_ctx(0)));
    return node;
}

static void nodes_run_after_what_they_depend_on(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraphNode last;
    CUgraphExec exec;
    CUgraph graph;

    OK(cu.GraphCreate(&graph, 0));
    last = memset_node(graph, NULL, word, 1);
    for (unsigned i = 2; i <= 20; i++)
        last = memset_node(graph, &last, word, i);
    exec = mgds_graph_exec(graph);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(20, mgds_peek(word));
    OK(cu.GraphExecDestroy(exec));
}

static atomic_int seen;

static void CUDA_CB keep(void *arg)
{
    atomic_store(&seen, *(int *)arg);
}

static void host_node_takes_new_arguments(void)
{
    CUstream s = mgds_free_stream();
    static int first = 1, second = 2;
    CUDA_HOST_NODE_PARAMS params = {keep, &first};
    CUgraphNode node;
    CUgraphExec exec;
    CUgraph graph;

    atomic_store(&seen, 0);
    OK(cu.GraphCreate(&graph, 0));
    OK(cu.GraphAddHostNode(&node, graph, NULL, 0, &params));
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, atomic_load(&seen));
    params.userData = &second;
    OK(cu.GraphExecHostNodeSetParams(exec, node, &params));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(2, atomic_load(&seen));
    OK(cu.GraphExecDestroy(exec));
    OK(cu.GraphDestroy(graph));
}

static void empty_node_joins_its_dependencies(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(12);
    CUgraphNode parts[2], joint;
    CUgraphExec exec;
    CUgraph graph;

    OK(cu.GraphCreate(&graph, 0));
    parts[0] = memset_node(graph, NULL, words, 1);
    parts[1] = memset_node(graph, NULL, words + 4, 2);
    OK(cu.GraphAddEmptyNode(&joint, graph, parts, 2));
    memset_node(graph, &joint, words + 8, 3);
    exec = mgds_graph_exec(graph);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x200000001, mgds_peek64(words));
    EXPECT_EQ(3, mgds_peek(words + 8));
    OK(cu.GraphExecDestroy(exec));
}

static void clone_is_a_graph_of_its_own(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(8);
    CUgraph graph, clone;
    CUgraphExec exec;
    size_t nodes = 0;

    OK(cu.GraphCreate(&graph, 0));
    memset_node(graph, NULL, words, 1);
    OK(cu.GraphClone(&clone, graph));
    memset_node(graph, NULL, words + 4, 2);
    OK(cu.GraphGetNodes(clone, NULL, &nodes));
    EXPECT_EQ(1, nodes);
    OK(cu.GraphDestroy(graph));
    exec = mgds_graph_exec(clone);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek64(words));
    OK(cu.GraphExecDestroy(exec));
}

static void capture_makes_a_node_of_each_kind(void)
{
    static const CUgraphNodeType want[] = {
        CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_HOST};
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(8);
    static int one = 1;
    CUgraphNode nodes[8];
    size_t count = 8;
    CUgraph graph;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(word, 1, 1, s));
    OK(cu.MemcpyDtoDAsync(word + 4, word, 4, s));
    OK(cu.StreamWriteValue32(s, word, 9, 0));
    OK(cu.LaunchHostFunc(s, keep, &one));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphGetNodes(graph, nodes, &count));
    EXPECT_EQ(4, count);
    for (size_t i = 0; i < count && i < 4; i++) {
        CUgraphNodeType type = 99;

        OK(cu.GraphNodeGetType(nodes[i], &type));
        EXPECT_EQ(want[i], type);
    }
    OK(cu.GraphDestroy(graph));
}

/* CU_EVENT_RECORD_EXTERNAL: the record is a node that acts at replay. */
static void external_record_acts_when_the_graph_runs(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr x = mgds_zeroed(4), y = mgds_zeroed(4);
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.MemsetD32Async(x, 4, 1, s));
    OK(cu.EventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    exec = mgds_graph_captured(s);
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
    mgds_hwqueue_hold(gate, s);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamWaitEvent(other, e, 0));
    OK(cu.MemcpyDtoDAsync(y, x, 4, other));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(other));
    EXPECT_EQ(4, mgds_peek(y));
    OK(cu.StreamSynchronize(s));
    OK(cu.GraphExecDestroy(exec));
}

static void external_wait_acts_when_the_graph_runs(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr x = mgds_zeroed(4), y = mgds_zeroed(4);
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s, LOCAL));
    OK(cu.StreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    OK(cu.MemcpyDtoDAsync(y, x, 4, s));
    exec = mgds_graph_captured(s);
    mgds_hwqueue_hold(gate, other);
    OK(cu.MemsetD32Async(x, 4, 1, other));
    OK(cu.EventRecord(e, other));
    OK(cu.GraphLaunch(exec, s));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(4, mgds_peek(y));
    OK(cu.StreamSynchronize(other));
    OK(cu.GraphExecDestroy(exec));
}

static void CUDA_CB drop(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static bool dropped_soon(atomic_int *drops, int want)
{
    for (int i = 0; i < 100000 && atomic_load(drops) < want; i++) {
        mgds_chance();
        sched_yield();
    }
    return atomic_load(drops) == want;
}

/* The object lives until the last graph and exec that hold it are gone. */
static void user_object_lives_as_long_as_its_exec(void)
{
    static atomic_int drops;
    CUstream s = mgds_free_stream();
    CUuserObject object;
    CUgraphExec exec;
    CUgraph graph;

    atomic_store(&drops, 0);
    OK(cu.GraphCreate(&graph, 0));
    memset_node(graph, NULL, mgds_zeroed(4), 1);
    OK(cu.UserObjectCreate(&object, &drops, drop, 1,
                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cu.GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphDestroy(graph));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, atomic_load(&drops));
    OK(cu.GraphExecDestroy(exec));
    EXPECT(dropped_soon(&drops, 1));
}

static void user_object_outlives_work_in_flight(void)
{
    static atomic_int drops;
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUuserObject object;
    CUgraphExec exec;
    CUgraph graph;

    atomic_store(&drops, 0);
    OK(cu.GraphCreate(&graph, 0));
    memset_node(graph, NULL, mgds_zeroed(4), 1);
    OK(cu.UserObjectCreate(&object, &drops, drop, 1,
                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cu.GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    exec = mgds_graph_exec(graph);
    mgds_hwqueue_hold(gate, s);
    OK(cu.GraphLaunch(exec, s));
    OK(cu.GraphExecDestroy(exec));
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&drops));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT(dropped_soon(&drops, 1));
}

static void user_object_counts_references(void)
{
    static atomic_int drops;
    CUuserObject object;

    atomic_store(&drops, 0);
    OK(cu.UserObjectCreate(&object, &drops, drop, 2,
                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cu.UserObjectRetain(object, 1));
    OK(cu.UserObjectRelease(object, 2));
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&drops));
    OK(cu.UserObjectRelease(object, 1));
    EXPECT(dropped_soon(&drops, 1));
}

static void foreign_dependency_is_refused(void)
{
    CUgraph a, b;
    CUgraphNode in_a, in_b;
    CUDA_MEMSET_NODE_PARAMS params = {mgds_zeroed(4), 4, 1, 4, 1, 1};

    OK(cu.GraphCreate(&a, 0));
    OK(cu.GraphCreate(&b, 0));
    in_a = memset_node(a, NULL, params.dst, 1);
    EXPECT_CU(
        CUDA_ERROR_INVALID_VALUE,
        cu.GraphAddMemsetNode(&in_b, b, &in_a, 1, &params, mgds_env_ctx(0)));
    OK(cu.GraphDestroy(a));
    OK(cu.GraphDestroy(b));
}

const struct mgds_case mgds_cases_node[] = {
    CASE(nodes_run_after_what_they_depend_on),
    CASE(host_node_takes_new_arguments),
    CASE(empty_node_joins_its_dependencies),
    CASE(clone_is_a_graph_of_its_own),
    CASE(capture_makes_a_node_of_each_kind, NEED_MEMOPS),
    CASE(external_record_acts_when_the_graph_runs, NEED_MEMOPS),
    CASE(external_wait_acts_when_the_graph_runs, NEED_MEMOPS),
    CASE(user_object_lives_as_long_as_its_exec),
    CASE(user_object_outlives_work_in_flight, NEED_MEMOPS),
    CASE(user_object_counts_references),
    CASE(foreign_dependency_is_refused),
    CASE_END,
};
