/* Graphs: objects, structure, queries. */
#include "sim/cuda/graph.h"

#include <stdlib.h>
#include <string.h>

CUresult mgds_graph_find(CUgraph handle, struct mgds_gpu_graph **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_GRAPH, handle))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct mgds_gpu_graph *)(void *)handle;
    return CUDA_SUCCESS;
}

CUresult mgds_node_find(CUgraphNode handle, struct mgds_gpu_node **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_NODE, handle))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct mgds_gpu_node *)(void *)handle;
    return CUDA_SUCCESS;
}

struct mgds_gpu_graph *mgds_graph_new(void)
{
    struct mgds_gpu_graph *graph = mgds_gpu_calloc(1, sizeof(*graph));

    mgds_handle_add(MGDS_HANDLE_GRAPH, graph);
    return graph;
}

static void node_free(struct mgds_gpu_node *node)
{
    mgds_handle_drop(node);
    if (node->op)
        mgds_op_free(node->op);
    if (node->child)
        mgds_graph_free(node->child);
    free(node->deps);
    free(node);
}

void mgds_graph_free(struct mgds_gpu_graph *graph)
{
    mgds_handle_drop(graph);
    for (size_t i = 0; i < graph->count; i++)
        node_free(graph->nodes[i]);
    for (size_t i = 0; i < graph->user_count; i++)
        mgds_user_put(graph->users[i].user, graph->users[i].count);
    free(graph->nodes);
    free(graph->users);
    free(graph);
}

static CUgraphNodeType type_of(const struct mgds_gpu_op *op)
{
    switch (op->kind) {
    case MGDS_OP_KERNEL:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case MGDS_OP_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case MGDS_OP_SET:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    case MGDS_OP_HOST:
        return CU_GRAPH_NODE_TYPE_HOST;
    case MGDS_OP_MEMOP:
        return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case MGDS_OP_RECORD:
        return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case MGDS_OP_WAIT:
        return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    default:
        return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

void mgds_node_depend(struct mgds_gpu_node *node, struct mgds_gpu_node *dep)
{
    node->deps =
        mgds_gpu_grow(node->deps, node->dep_count + 1, &node->dep_capacity,
                      sizeof(struct mgds_gpu_node *));
    node->deps[node->dep_count++] = dep;
}

struct mgds_gpu_node *mgds_graph_add(struct mgds_gpu_graph *graph,
                                     struct mgds_gpu_op *op,
                                     struct mgds_gpu_node *const *deps,
                                     size_t count)
{
    struct mgds_gpu_node *node = mgds_gpu_calloc(1, sizeof(*node));

    node->graph = graph;
    node->op = op;
    node->type = op ? type_of(op) : CU_GRAPH_NODE_TYPE_GRAPH;
    for (size_t i = 0; i < count; i++)
        mgds_node_depend(node, deps[i]);
    graph->nodes =
        mgds_gpu_grow(graph->nodes, graph->count + 1, &graph->capacity,
                      sizeof(struct mgds_gpu_node *));
    graph->nodes[graph->count++] = node;
    mgds_handle_add(MGDS_HANDLE_NODE, node);
    return node;
}

static void copy_node(struct mgds_gpu_graph *to,
                      const struct mgds_gpu_node *from)
{
    struct mgds_gpu_op *op = from->op ? mgds_op_clone(from->op) : NULL;
    struct mgds_gpu_node *node = mgds_graph_add(to, op, NULL, 0);

    node->type = from->type;
    if (from->child) {
        node->child = mgds_graph_copy(from->child);
        node->child->is_child = true;
    }
}

struct mgds_gpu_graph *mgds_graph_copy(const struct mgds_gpu_graph *graph)
{
    struct mgds_gpu_graph *copy = mgds_graph_new();

    for (size_t i = 0; i < graph->count; i++) {
        graph->nodes[i]->index = i;
        copy_node(copy, graph->nodes[i]);
    }
    for (size_t i = 0; i < graph->count; i++) {
        const struct mgds_gpu_node *node = graph->nodes[i];

        for (size_t d = 0; d < node->dep_count; d++)
            mgds_node_depend(copy->nodes[i], copy->nodes[node->deps[d]->index]);
    }
    for (size_t i = 0; i < graph->user_count; i++) {
        copy->users = mgds_gpu_grow(copy->users, copy->user_count + 1,
                                    &copy->user_capacity, sizeof(*copy->users));
        copy->users[copy->user_count++] = graph->users[i];
        mgds_user_get(graph->users[i].user, graph->users[i].count);
    }
    return copy;
}

static CUresult create(CUgraph *out, unsigned flags)
{
    if (!out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUgraph)(void *)mgds_graph_new();
    return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_INIT, create(graph, flags));
}

static CUresult destroy(CUgraph handle)
{
    struct mgds_gpu_graph *graph;
    CUresult rc = mgds_graph_find(handle, &graph);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (graph->is_child)
        return CUDA_ERROR_INVALID_VALUE;
    mgds_graph_free(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    MGDS_API(call, MGDS_NEED_INIT, destroy(graph));
}

static CUresult clone_graph(CUgraph *out, CUgraph handle)
{
    struct mgds_gpu_graph *graph;
    CUresult rc = mgds_graph_find(handle, &graph);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUgraph)(void *)mgds_graph_copy(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *copy, CUgraph graph)
{
    MGDS_API(call, MGDS_NEED_INIT, clone_graph(copy, graph));
}

/* The driver's way to return lists: without a place only the count is given;
 * places that are too many are set to NULL. */
static CUresult give(CUgraphNode *out, size_t *count,
                     struct mgds_gpu_node *const *nodes, size_t have)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; out && i < *count; i++)
        out[i] = i < have ? (CUgraphNode)(void *)nodes[i] : NULL;
    if (!out || *count > have)
        *count = have;
    return CUDA_SUCCESS;
}

static CUresult get_nodes(CUgraph handle, CUgraphNode *out, size_t *count)
{
    struct mgds_gpu_graph *graph;
    CUresult rc = mgds_graph_find(handle, &graph);

    return rc == CUDA_SUCCESS ? give(out, count, graph->nodes, graph->count)
                              : rc;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    MGDS_API(call, MGDS_NEED_INIT, get_nodes(graph, nodes, count));
}

static CUresult get_roots(CUgraph handle, CUgraphNode *out, size_t *count)
{
    struct mgds_gpu_node **roots;
    struct mgds_gpu_graph *graph;
    CUresult rc = mgds_graph_find(handle, &graph);
    size_t have = 0;

    if (rc != CUDA_SUCCESS)
        return rc;
    roots = mgds_gpu_calloc(graph->count + 1, sizeof(struct mgds_gpu_node *));
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i]->dep_count == 0)
            roots[have++] = graph->nodes[i];
    }
    rc = give(out, count, roots, have);
    free(roots);
    return rc;
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    MGDS_API(call, MGDS_NEED_INIT, get_roots(graph, nodes, count));
}

/* Rules as for give(), with two places. */
static CUresult get_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
                          size_t *count)
{
    struct mgds_gpu_graph *graph;
    CUresult rc = mgds_graph_find(handle, &graph);
    size_t have = 0;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!count || !from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->count; i++) {
        for (size_t d = 0; d < graph->nodes[i]->dep_count; d++, have++) {
            if (!from || have >= *count)
                continue;
            from[have] = (CUgraphNode)(void *)graph->nodes[i]->deps[d];
            to[have] = (CUgraphNode)(void *)graph->nodes[i];
        }
    }
    if (!from || *count > have)
        *count = have;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                         size_t *count)
{
    MGDS_API(call, MGDS_NEED_INIT, get_edges(graph, from, to, count));
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *count)
{
    CUresult rc = cuGraphGetEdges(graph, from, to, count);

    if (rc == CUDA_SUCCESS && count && edges && from)
        memset(edges, 0, *count * sizeof(*edges));
    return rc;
}

static CUresult get_type(CUgraphNode handle, CUgraphNodeType *type)
{
    struct mgds_gpu_node *node;
    CUresult rc = mgds_node_find(handle, &node);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = node->type;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    MGDS_API(call, MGDS_NEED_INIT, get_type(node, type));
}

static CUresult get_deps(CUgraphNode handle, CUgraphNode *out, size_t *count)
{
    struct mgds_gpu_node *node;
    CUresult rc = mgds_node_find(handle, &node);

    return rc == CUDA_SUCCESS ? give(out, count, node->deps, node->dep_count)
                              : rc;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps,
                                    size_t *count)
{
    MGDS_API(call, MGDS_NEED_INIT, get_deps(node, deps, count));
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *deps,
                                       CUgraphEdgeData *edges, size_t *count)
{
    CUresult rc = cuGraphNodeGetDependencies(node, deps, count);

    if (rc == CUDA_SUCCESS && count && edges && deps)
        memset(edges, 0, *count * sizeof(*edges));
    return rc;
}

static CUresult add_deps(CUgraph handle, const CUgraphNode *from,
                         const CUgraphNode *to, size_t count)
{
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_node *a, *b;
    CUresult rc = mgds_graph_find(handle, &graph);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (count && (!from || !to))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (mgds_node_find(from[i], &a) || mgds_node_find(to[i], &b) ||
            a->graph != graph || b->graph != graph || a == b)
            return CUDA_ERROR_INVALID_VALUE;
        mgds_node_depend(b, a);
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
                                const CUgraphNode *to, size_t count)
{
    MGDS_API(call, MGDS_NEED_INIT, add_deps(graph, from, to, count));
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                   const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count)
{
    (void)edges;
    return cuGraphAddDependencies(graph, from, to, count);
}

/* Whoever came after it no longer does: its dependencies are not handed on. */
static void forget_dep(struct mgds_gpu_node *node,
                       const struct mgds_gpu_node *dep)
{
    size_t kept = 0;

    for (size_t i = 0; i < node->dep_count; i++) {
        if (node->deps[i] != dep)
            node->deps[kept++] = node->deps[i];
    }
    node->dep_count = kept;
}

static CUresult destroy_node(CUgraphNode handle)
{
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_node *node;
    CUresult rc = mgds_node_find(handle, &node);
    size_t kept = 0;

    if (rc != CUDA_SUCCESS)
        return rc;
    graph = node->graph;
    for (size_t i = 0; i < graph->count; i++) {
        forget_dep(graph->nodes[i], node);
        if (graph->nodes[i] != node)
            graph->nodes[kept++] = graph->nodes[i];
    }
    graph->count = kept;
    node_free(node);
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
    MGDS_API(call, MGDS_NEED_INIT, destroy_node(node));
}
