/* Nodes added by hand, and changed in an executable. */
#include "sim/cuda/copy.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/event.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/memop.h"
#include "sim/cuda/module.h"

/* Where a new node goes. */
struct place {
    CUgraphNode *out;
    CUgraph graph;
    const CUgraphNode *deps;
    size_t count;
};

static CUresult check(const struct place *place, struct mgds_gpu_graph **graph)
{
    struct mgds_gpu_node *dep;
    CUresult rc = mgds_graph_find(place->graph, graph);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!place->out || (place->count && !place->deps))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < place->count; i++) {
        if (mgds_node_find(place->deps[i], &dep) || dep->graph != *graph)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* Takes op, which is NULL if making it failed with rc. */
static CUresult add(struct place place, CUresult rc, struct mgds_gpu_op *op)
{
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_node *node;

    if (rc != CUDA_SUCCESS)
        return rc;
    rc = check(&place, &graph);
    if (rc != CUDA_SUCCESS) {
        mgds_op_free(op);
        return rc;
    }
    node = mgds_graph_add(
        graph, op, (struct mgds_gpu_node *const *)(const void *)place.deps,
        place.count);
    *place.out = (CUgraphNode)(void *)node;
    return CUDA_SUCCESS;
}

/* The context of a node: the one given, else the current one. */
static CUresult pick_ctx(CUcontext handle, struct mgds_gpu_ctx **ctx)
{
    return handle ? mgds_ctx_check(handle, ctx) : mgds_ctx_current(ctx);
}

static CUresult add_empty(struct place place)
{
    return add(place, CUDA_SUCCESS, mgds_op_new(MGDS_OP_EMPTY, NULL, NULL, 0));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph,
                             const CUgraphNode *deps, size_t count)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_empty(place));
}

static CUresult kernel_op(const CUDA_KERNEL_NODE_PARAMS *params,
                          struct mgds_gpu_op **op)
{
    struct mgds_gpu_ctx *ctx;
    CUlaunchConfig config;
    CUfunction function;
    CUresult rc;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    rc = pick_ctx(params->ctx, &ctx);
    if (rc != CUDA_SUCCESS)
        return rc;
    config = (CUlaunchConfig){
        .gridDimX = params->gridDimX,
        .gridDimY = params->gridDimY,
        .gridDimZ = params->gridDimZ,
        .blockDimX = params->blockDimX,
        .blockDimY = params->blockDimY,
        .blockDimZ = params->blockDimZ,
        .sharedMemBytes = params->sharedMemBytes,
    };
    function = params->func ? params->func : (CUfunction)(void *)params->kern;
    return mgds_kernel_op(ctx, &config, function, params->kernelParams,
                          params->extra, op);
}

static CUresult add_kernel(struct place place,
                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct mgds_gpu_op *op = NULL;
    CUresult rc = kernel_op(params, &op);

    return add(place, rc, op);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                 const CUgraphNode *deps, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_kernel(place, params));
}

static CUresult add_copy(struct place place, const CUDA_MEMCPY3D *params,
                         CUcontext handle)
{
    struct mgds_copy_request request;
    struct mgds_gpu_op *op = NULL;
    struct mgds_gpu_ctx *ctx;
    CUresult rc = pick_ctx(handle, &ctx);

    if (rc == CUDA_SUCCESS)
        rc = mgds_copy_from_3d(params, &request);
    if (rc == CUDA_SUCCESS)
        rc = mgds_copy_check(&request);
    if (rc == CUDA_SUCCESS) {
        op = mgds_op_new(MGDS_OP_COPY, ctx, NULL, 0);
        op->u.copy = request.copy;
    }
    return add(place, rc, op);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
                              const CUgraphNode *deps, size_t count,
                              const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_copy(place, params, ctx));
}

static CUresult add_set(struct place place,
                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext handle)
{
    struct mgds_op_set set;
    struct mgds_gpu_op *op = NULL;
    struct mgds_gpu_ctx *ctx;
    CUresult rc = pick_ctx(handle, &ctx);

    if (!params || (params->elementSize != 1 && params->elementSize != 2 &&
                    params->elementSize != 4))
        return CUDA_ERROR_INVALID_VALUE;
    set = (struct mgds_op_set){(uintptr_t)params->dst, params->pitch,
                               params->width,          params->height,
                               params->value,          params->elementSize};
    if (rc == CUDA_SUCCESS)
        rc = mgds_set_check(&set);
    if (rc == CUDA_SUCCESS) {
        op = mgds_op_new(MGDS_OP_SET, ctx, NULL, 0);
        op->u.set = set;
    }
    return add(place, rc, op);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph,
                              const CUgraphNode *deps, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *params,
                              CUcontext ctx)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_set(place, params, ctx));
}

static CUresult host_op(const CUDA_HOST_NODE_PARAMS *params,
                        struct mgds_gpu_op **op)
{
    if (!params || !params->fn)
        return CUDA_ERROR_INVALID_VALUE;
    *op = mgds_op_new(MGDS_OP_HOST, NULL, NULL, 0);
    (*op)->u.host.fn = params->fn;
    (*op)->u.host.arg = params->userData;
    return CUDA_SUCCESS;
}

static CUresult add_host(struct place place,
                         const CUDA_HOST_NODE_PARAMS *params)
{
    struct mgds_gpu_op *op = NULL;
    CUresult rc = host_op(params, &op);

    return add(place, rc, op);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph,
                            const CUgraphNode *deps, size_t count,
                            const CUDA_HOST_NODE_PARAMS *params)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_host(place, params));
}

static CUresult memop_op(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params,
                         struct mgds_gpu_op **op)
{
    struct mgds_gpu_ctx *ctx;
    CUresult rc;

    if (!params || params->count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    rc = pick_ctx(params->ctx, &ctx);
    if (rc == CUDA_SUCCESS)
        rc = mgds_memop_check(ctx, params->paramArray, params->count,
                              params->flags);
    if (rc == CUDA_SUCCESS)
        *op = mgds_memop_op(ctx, params->paramArray, params->count);
    return rc;
}

static CUresult add_memop(struct place place,
                          const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct mgds_gpu_op *op = NULL;
    CUresult rc = memop_op(params, &op);

    return add(place, rc, op);
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *node, CUgraph graph,
                                  const CUgraphNode *deps, size_t count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_memop(place, params));
}

static CUresult add_event(struct place place, enum mgds_op_kind kind,
                          CUevent handle)
{
    struct mgds_gpu_event *event;
    struct mgds_gpu_op *op = NULL;
    CUresult rc = mgds_event_find(handle, &event);

    if (rc == CUDA_SUCCESS)
        op = mgds_event_node_op(kind, event, event->ctx);
    return add(place, rc, op);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
                                   const CUgraphNode *deps, size_t count,
                                   CUevent event)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_event(place, MGDS_OP_RECORD, event));
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph,
                                 const CUgraphNode *deps, size_t count,
                                 CUevent event)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_event(place, MGDS_OP_WAIT, event));
}

static CUresult add_child(struct place place, CUgraph handle)
{
    struct mgds_gpu_graph *graph, *child;
    struct mgds_gpu_node *node;
    CUresult rc = mgds_graph_find(handle, &child);

    if (rc == CUDA_SUCCESS)
        rc = check(&place, &graph);
    if (rc != CUDA_SUCCESS)
        return rc;
    child = mgds_graph_copy(child);
    child->is_child = true;
    node = mgds_graph_add(
        graph, NULL, (struct mgds_gpu_node *const *)(const void *)place.deps,
        place.count);
    node->child = child;
    *place.out = (CUgraphNode)(void *)node;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
                                  const CUgraphNode *deps, size_t count,
                                  CUgraph child)
{
    struct place place = {node, graph, deps, count};

    MGDS_API(call, MGDS_NEED_INIT, add_child(place, child));
}

static CUresult get_child(CUgraphNode handle, CUgraph *graph)
{
    struct mgds_gpu_node *node;
    CUresult rc = mgds_node_find(handle, &node);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!graph || !node->child)
        return CUDA_ERROR_INVALID_VALUE;
    *graph = (CUgraph)(void *)node->child;
    return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
    MGDS_API(call, MGDS_NEED_INIT, get_child(node, graph));
}

/* Takes op: the node of that kind in the executable runs it from the next
 * launch on. */
static CUresult replace(CUgraphExec handle, CUgraphNode node_handle,
                        CUresult rc, struct mgds_gpu_op *op)
{
    struct mgds_gpu_node *node;

    if (rc != CUDA_SUCCESS)
        return rc;
    rc = mgds_node_find(node_handle, &node);
    if (rc == CUDA_SUCCESS)
        rc = mgds_exec_replace(handle, node, op);
    if (rc != CUDA_SUCCESS)
        mgds_op_free(op);
    return rc;
}

static CUresult set_kernel(CUgraphExec exec, CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct mgds_gpu_op *op = NULL;
    CUresult rc = kernel_op(params, &op);

    return replace(exec, node, rc, op);
}

CUresult
cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS *params)
{
    MGDS_API(call, MGDS_NEED_INIT, set_kernel(exec, node, params));
}

static CUresult set_host(CUgraphExec exec, CUgraphNode node,
                         const CUDA_HOST_NODE_PARAMS *params)
{
    struct mgds_gpu_op *op = NULL;
    CUresult rc = host_op(params, &op);

    return replace(exec, node, rc, op);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *params)
{
    MGDS_API(call, MGDS_NEED_INIT, set_host(exec, node, params));
}

static CUresult set_memop(CUgraphExec exec, CUgraphNode node,
                          const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct mgds_gpu_op *op = NULL;
    CUresult rc = memop_op(params, &op);

    return replace(exec, node, rc, op);
}

CUresult
cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                   const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    MGDS_API(call, MGDS_NEED_INIT, set_memop(exec, node, params));
}
