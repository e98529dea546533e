/* Executable graphs: instantiation, launch, execution in lanes. A lane is a
 * chain of nodes that one thread runs in order; lanes run at the same time. */
#include "sim/cuda/graph.h"

#include <stdlib.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/event.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/stream.h"

#define END SIZE_MAX

static CUresult find(CUgraphExec handle, struct mgds_gpu_exec **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_EXEC, handle))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct mgds_gpu_exec *)(void *)handle;
    return CUDA_SUCCESS;
}

/* While nodes are put in order: 0 not yet, 1 on the way (a cycle if met
 * again), 2 placed; `last` is where the node ended up. */
struct order {
    struct mgds_gpu_body *body;
    int *state;
    size_t *last;
};

/* Takes op. */
static size_t append(struct mgds_gpu_body *body, struct mgds_gpu_op *op,
                     const struct mgds_gpu_node *original)
{
    struct mgds_body_node *node;

    body->nodes = mgds_gpu_grow(body->nodes, body->count + 1, &body->capacity,
                                sizeof(*body->nodes));
    node = &body->nodes[body->count];
    *node = (struct mgds_body_node){.op = op, .original = original};
    return body->count++;
}

static void body_depend(struct mgds_gpu_body *body, size_t node, size_t dep)
{
    struct mgds_body_node *n = &body->nodes[node];
    size_t *deps = realloc(n->deps, (n->dep_count + 1) * sizeof(*deps));

    if (!deps)
        abort();
    n->deps = deps;
    n->deps[n->dep_count++] = dep;
}

static CUresult unfold(struct mgds_gpu_body *body, struct mgds_gpu_graph *graph,
                       size_t before, size_t *after);

/* Places a node behind its dependencies; a child graph between two empty
 * nodes. `before` is a node that all roots follow, or END. */
static CUresult place(struct order *order, struct mgds_gpu_node *node,
                      size_t before)
{
    struct mgds_gpu_body *body = order->body;
    size_t i = node->index, at;
    CUresult rc = CUDA_SUCCESS;

    if (order->state[i])
        return order->state[i] == 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    order->state[i] = 1;
    for (size_t d = 0; d < node->dep_count && rc == CUDA_SUCCESS; d++)
        rc = place(order, node->deps[d], before);
    if (rc != CUDA_SUCCESS)
        return rc;
    at = append(body,
                node->op ? mgds_op_clone(node->op)
                         : mgds_op_new(MGDS_OP_EMPTY, NULL, NULL, 0),
                node);
    for (size_t d = 0; d < node->dep_count; d++)
        body_depend(body, at, order->last[node->deps[d]->index]);
    if (node->dep_count == 0 && before != END)
        body_depend(body, at, before);
    if (node->child)
        rc = unfold(body, node->child, at, &at);
    order->last[i] = at;
    order->state[i] = 2;
    return rc;
}

/* Whoever follows the child follows one empty node behind all of it. */
static void close_child(struct mgds_gpu_body *body, const struct order *order,
                        const struct mgds_gpu_graph *graph, size_t before,
                        size_t *after)
{
    *after = append(body, mgds_op_new(MGDS_OP_EMPTY, NULL, NULL, 0), NULL);
    body_depend(body, *after, before);
    for (size_t i = 0; i < graph->count; i++)
        body_depend(body, *after, order->last[i]);
}

static CUresult unfold(struct mgds_gpu_body *body, struct mgds_gpu_graph *graph,
                       size_t before, size_t *after)
{
    struct order order = {
        body, mgds_gpu_calloc(graph->count + 1, sizeof(*order.state)),
        mgds_gpu_calloc(graph->count + 1, sizeof(*order.last))};
    CUresult rc = CUDA_SUCCESS;

    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->index = i;
    for (size_t i = 0; i < graph->count && rc == CUDA_SUCCESS; i++)
        rc = place(&order, graph->nodes[i], before);
    if (rc == CUDA_SUCCESS && after)
        close_child(body, &order, graph, before, after);
    free(order.state);
    free(order.last);
    return rc;
}

/* A node goes on in the lane of a dependency that nothing else goes on from;
 * else it opens a lane. */
static void assign_lanes(struct mgds_gpu_body *body)
{
    for (size_t i = 0; i < body->count; i++)
        body->nodes[i].lane_next = END;
    for (size_t i = 0; i < body->count; i++) {
        struct mgds_body_node *node = &body->nodes[i];
        bool placed = false;

        for (size_t d = 0; d < node->dep_count && !placed; d++) {
            struct mgds_body_node *dep = &body->nodes[node->deps[d]];

            placed = dep->lane_next == END;
            if (placed)
                dep->lane_next = i;
        }
        if (placed)
            continue;
        body->lanes = mgds_gpu_grow(body->lanes, body->lane_count + 1,
                                    &body->lane_capacity, sizeof(*body->lanes));
        body->lanes[body->lane_count++] = i;
    }
}

CUresult mgds_body_new(struct mgds_gpu_graph *graph, struct mgds_gpu_body **out)
{
    struct mgds_gpu_body *body = mgds_gpu_calloc(1, sizeof(*body));
    CUresult rc;

    body->refs = 1;
    rc = unfold(body, graph, END, NULL);
    if (rc != CUDA_SUCCESS) {
        mgds_body_put(body);
        return rc;
    }
    assign_lanes(body);
    *out = body;
    return CUDA_SUCCESS;
}

void mgds_body_put(struct mgds_gpu_body *body)
{
    if (--body->refs)
        return;
    for (size_t i = 0; i < body->count; i++) {
        mgds_op_free(body->nodes[i].op);
        free(body->nodes[i].deps);
    }
    free(body->nodes);
    free(body->lanes);
    free(body);
}

void mgds_exec_put(struct mgds_gpu_exec *exec)
{
    if (--exec->refs)
        return;
    mgds_body_put(exec->body);
    mgds_graph_free(exec->source);
    pthread_cond_destroy(&exec->moved);
    free(exec);
}

/* One lane of a launch. */
struct lane {
    struct mgds_gpu_exec *exec;
    size_t first;
    uint64_t random;
};

static void await_node(struct mgds_gpu_exec *exec,
                       const struct mgds_body_node *node)
{
    for (size_t d = 0; d < node->dep_count; d++) {
        while (!exec->now->nodes[node->deps[d]].done)
            pthread_cond_wait(&exec->moved, &mgds_gpu.lock);
    }
}

static void run_node(struct lane *lane, struct mgds_body_node *node)
{
    CUresult rc;

    if (mgds_gpu_lost()) {
        mgds_op_skip(node->op);
        return;
    }
    pthread_mutex_unlock(&mgds_gpu.lock);
    mgds_gpu_delay(&lane->random);
    rc = mgds_op_run(node->op);
    pthread_mutex_lock(&mgds_gpu.lock);
    if (rc != CUDA_SUCCESS)
        mgds_gpu_lose(rc);
}

static void run_lane(void *arg)
{
    struct lane *lane = arg;
    struct mgds_gpu_exec *exec = lane->exec;

    for (size_t i = lane->first; i != END; i = exec->now->nodes[i].lane_next) {
        struct mgds_body_node *node = &exec->now->nodes[i];

        await_node(exec, node);
        run_node(lane, node);
        node->done = true;
        pthread_cond_broadcast(&exec->moved);
    }
    exec->lanes_left--;
    pthread_cond_broadcast(&exec->moved);
    free(lane);
}

static struct lane *lane_new(struct mgds_gpu_exec *exec, size_t number)
{
    struct lane *lane = mgds_gpu_calloc(1, sizeof(*lane));

    lane->exec = exec;
    lane->first = exec->now->lanes[number];
    lane->random =
        mgds_gpu_random((exec->serial << 40) + (exec->launches << 16) + number);
    return lane;
}

/* The launch's own thread is the first lane; with one lane nothing else is
 * started. */
static void run_lanes(struct mgds_gpu_exec *exec)
{
    struct mgds_gpu_body *body = exec->now;

    for (size_t i = 0; i < body->count; i++)
        body->nodes[i].done = false;
    exec->launches++;
    exec->lanes_left = body->lane_count;
    for (size_t i = 1; i < body->lane_count; i++)
        mgds_pool_run(run_lane, lane_new(exec, i));
    if (body->lane_count)
        run_lane(lane_new(exec, 0));
    while (exec->lanes_left)
        pthread_cond_wait(&exec->moved, &mgds_gpu.lock);
}

/* Events that the graph records stand for this launch from the call on. The
 * payload has a record for each such node, in their order. */
static void record_events(struct mgds_gpu_op *op)
{
    const struct mgds_gpu_body *body = op->u.graph.body;
    struct mgds_op_event *records;
    size_t count = 0;

    for (size_t i = 0; i < body->count; i++)
        count += body->nodes[i].op->kind == MGDS_OP_RECORD;
    if (count == 0)
        return;
    records = mgds_gpu_calloc(count, sizeof(*records));
    op->payload = records;
    for (size_t i = 0; i < body->count; i++) {
        if (body->nodes[i].op->kind == MGDS_OP_RECORD)
            *records++ = mgds_event_record(body->nodes[i].op->u.event.event);
    }
}

/* Hands the records of a launch to the nodes, which run once at a time. */
static void lend_records(struct mgds_gpu_op *op)
{
    struct mgds_gpu_body *body = op->u.graph.body;
    struct mgds_op_event *record = op->payload;

    for (size_t i = 0; i < body->count; i++) {
        if (body->nodes[i].op->kind == MGDS_OP_RECORD)
            body->nodes[i].op->u.event = *record++;
    }
}

/* The event keeps the mark if it is still its last. */
static void take_records(const struct mgds_gpu_op *op)
{
    const struct mgds_gpu_body *body = op->u.graph.body;

    for (size_t i = 0; i < body->count; i++) {
        struct mgds_gpu_op *node = body->nodes[i].op;

        if (node->kind != MGDS_OP_RECORD)
            continue;
        mgds_fence_put(node->u.event.mark);
        node->u.event.mark = NULL;
    }
}

/* What a launch must still do in a dead context: its records are waited for. */
void mgds_exec_skip(struct mgds_gpu_op *op)
{
    const struct mgds_gpu_body *body = op->u.graph.body;

    lend_records(op);
    for (size_t i = 0; i < body->count; i++) {
        if (body->nodes[i].op->kind == MGDS_OP_RECORD)
            mgds_op_skip(body->nodes[i].op);
    }
    take_records(op);
}

CUresult mgds_exec_run(struct mgds_gpu_op *op)
{
    struct mgds_gpu_exec *exec = op->u.graph.exec;

    pthread_mutex_lock(&mgds_gpu.lock);
    while (exec->running)
        pthread_cond_wait(&exec->moved, &mgds_gpu.lock);
    exec->running = true;
    exec->now = op->u.graph.body;
    lend_records(op);
    run_lanes(exec);
    take_records(op);
    exec->running = false;
    pthread_cond_broadcast(&exec->moved);
    pthread_mutex_unlock(&mgds_gpu.lock);
    return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle,
                            unsigned long long flags)
{
    static uint64_t serial;
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_exec *exec;
    struct mgds_gpu_body *body;
    CUresult rc = mgds_graph_find(handle, &graph);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!out || flags > 15 || flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return CUDA_ERROR_INVALID_VALUE;
    rc = mgds_body_new(graph, &body);
    if (rc != CUDA_SUCCESS)
        return rc;
    exec = mgds_gpu_calloc(1, sizeof(*exec));
    exec->refs = 1;
    exec->serial = ++serial;
    exec->flags = flags;
    exec->body = body;
    pthread_cond_init(&exec->moved, NULL);
    exec->source = mgds_graph_copy(graph);
    mgds_handle_add(MGDS_HANDLE_EXEC, exec);
    *out = (CUgraphExec)(void *)exec;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                     unsigned long long flags)
{
    MGDS_API(call, MGDS_NEED_INIT, instantiate(exec, graph, flags));
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    CUresult rc;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    rc = cuGraphInstantiateWithFlags(exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = rc == CUDA_SUCCESS
                             ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                             : CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    return rc;
}

static CUresult destroy(CUgraphExec handle)
{
    struct mgds_gpu_exec *exec;
    CUresult rc = find(handle, &exec);

    if (rc != CUDA_SUCCESS)
        return rc;
    mgds_handle_drop(exec);
    mgds_exec_put(exec);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    MGDS_API(call, MGDS_NEED_INIT, destroy(exec));
}

static CUresult get_flags(CUgraphExec handle, cuuint64_t *flags)
{
    struct mgds_gpu_exec *exec;
    CUresult rc = find(handle, &exec);

    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *flags = exec->flags;
    return rc;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    MGDS_API(call, MGDS_NEED_INIT, get_flags(exec, flags));
}

static CUresult launch(CUgraphExec handle, CUstream stream_handle)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_exec *exec;
    struct mgds_gpu_op *op;
    CUresult rc = find(handle, &exec);

    if (rc == CUDA_SUCCESS)
        rc = mgds_stream_find(stream_handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = mgds_capture_bars_sync(stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    op = mgds_op_new(MGDS_OP_GRAPH, stream->ctx, NULL, 0);
    op->u.graph.exec = exec;
    op->u.graph.body = exec->body;
    exec->refs++;
    exec->body->refs++;
    record_events(op);
    return mgds_stream_submit(stream, op);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    MGDS_API(call, MGDS_NEED_INIT, launch(exec, stream));
}

/* Nothing to bring anywhere: only checked. */
static CUresult upload(CUgraphExec handle, CUstream stream_handle)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_exec *exec;
    CUresult rc = find(handle, &exec);

    return rc == CUDA_SUCCESS ? mgds_stream_find(stream_handle, &stream) : rc;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    MGDS_API(call, MGDS_NEED_INIT, upload(exec, stream));
}

/* Bodies never change, since launches that are queued refer to them. */
static struct mgds_gpu_body *body_copy(const struct mgds_gpu_body *body)
{
    struct mgds_gpu_body *copy = mgds_gpu_calloc(1, sizeof(*copy));

    copy->refs = 1;
    for (size_t i = 0; i < body->count; i++) {
        const struct mgds_body_node *node = &body->nodes[i];

        append(copy, mgds_op_clone(node->op), node->original);
        for (size_t d = 0; d < node->dep_count; d++)
            body_depend(copy, i, node->deps[d]);
    }
    assign_lanes(copy);
    return copy;
}

static void set_body(struct mgds_gpu_exec *exec, struct mgds_gpu_body *body)
{
    mgds_body_put(exec->body);
    exec->body = body;
}

/* The node, or the one it was cloned from, in the body. */
static size_t where(const struct mgds_gpu_body *body,
                    const struct mgds_gpu_node *node)
{
    for (size_t i = 0; i < body->count; i++) {
        if (body->nodes[i].original == node)
            return i;
    }
    return END;
}

CUresult mgds_exec_replace(CUgraphExec handle, const struct mgds_gpu_node *node,
                           struct mgds_gpu_op *op)
{
    struct mgds_gpu_exec *exec;
    struct mgds_gpu_body *body;
    CUresult rc = find(handle, &exec);
    size_t i;

    if (rc != CUDA_SUCCESS)
        return rc;
    i = where(exec->body, node);
    if (i == END || exec->body->nodes[i].op->kind != op->kind)
        return CUDA_ERROR_INVALID_VALUE;
    body = body_copy(exec->body);
    mgds_op_free(body->nodes[i].op);
    body->nodes[i].op = op;
    set_body(exec, body);
    return CUDA_SUCCESS;
}

/* Nodes of the same kinds with the same dependencies. */
static CUgraphExecUpdateResult compare(const struct mgds_gpu_body *a,
                                       const struct mgds_gpu_body *b)
{
    if (a->count != b->count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < a->count; i++) {
        const struct mgds_body_node *x = &a->nodes[i], *y = &b->nodes[i];

        if (x->op->kind != y->op->kind)
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (x->dep_count != y->dep_count)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        for (size_t d = 0; d < x->dep_count; d++) {
            if (x->deps[d] != y->deps[d])
                return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        }
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult update(CUgraphExec handle, CUgraph graph_handle,
                       CUgraphExecUpdateResultInfo *info)
{
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_exec *exec;
    struct mgds_gpu_body *body;
    CUresult rc = find(handle, &exec);

    if (rc == CUDA_SUCCESS)
        rc = mgds_graph_find(graph_handle, &graph);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!info)
        return CUDA_ERROR_INVALID_VALUE;
    *info =
        (CUgraphExecUpdateResultInfo){CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL};
    rc = mgds_body_new(graph, &body);
    if (rc != CUDA_SUCCESS)
        return rc;
    info->result = compare(exec->body, body);
    if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        mgds_body_put(body);
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    set_body(exec, body);
    mgds_graph_free(exec->source);
    exec->source = mgds_graph_copy(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo *result)
{
    MGDS_API(call, MGDS_NEED_INIT, update(exec, graph, result));
}
