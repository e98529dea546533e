/* User objects: destroyed when the last graph or program lets go. */
#include <stdlib.h>

#include "sim/cuda/graph.h"
#include "sim/cuda/pool.h"

/* No CUDA calls in there, as in a host function. */
static void destroy_later(void *arg)
{
    struct mgds_gpu_user *user = arg;

    pthread_mutex_unlock(&mgds_gpu.lock);
    mgds_gpu_thread.host_function = true;
    user->destroy(user->ptr);
    mgds_gpu_thread.host_function = false;
    free(user);
    pthread_mutex_lock(&mgds_gpu.lock);
}

void mgds_user_get(struct mgds_gpu_user *user, unsigned count)
{
    user->refs += count;
}

/* Later and elsewhere: whoever lets go last holds the lock. */
void mgds_user_put(struct mgds_gpu_user *user, unsigned count)
{
    user->refs -= count;
    if (user->refs)
        return;
    mgds_handle_drop(user);
    mgds_pool_run(destroy_later, user);
}

static CUresult find(CUuserObject handle, unsigned count,
                     struct mgds_gpu_user **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_USER, handle) || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct mgds_gpu_user *)(void *)handle;
    return CUDA_SUCCESS;
}

static CUresult create(CUuserObject *out, void *ptr, CUhostFn destroy,
                       unsigned refs)
{
    struct mgds_gpu_user *user;

    if (!out || !destroy || refs == 0)
        return CUDA_ERROR_INVALID_VALUE;
    user = mgds_gpu_calloc(1, sizeof(*user));
    user->refs = refs;
    user->ptr = ptr;
    user->destroy = destroy;
    mgds_handle_add(MGDS_HANDLE_USER, user);
    *out = (CUuserObject)(void *)user;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectCreate(CUuserObject *object, void *ptr, CUhostFn destroy,
                            unsigned refs, unsigned flags)
{
    if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, create(object, ptr, destroy, refs));
}

static CUresult retain(CUuserObject handle, unsigned count)
{
    struct mgds_gpu_user *user;
    CUresult rc = find(handle, count, &user);

    if (rc == CUDA_SUCCESS)
        mgds_user_get(user, count);
    return rc;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count)
{
    MGDS_API(call, MGDS_NEED_INIT, retain(object, count));
}

static CUresult release(CUuserObject handle, unsigned count)
{
    struct mgds_gpu_user *user;
    CUresult rc = find(handle, count, &user);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (count > user->refs)
        return CUDA_ERROR_INVALID_VALUE;
    mgds_user_put(user, count);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count)
{
    MGDS_API(call, MGDS_NEED_INIT, release(object, count));
}

static struct mgds_user_ref *held(struct mgds_gpu_graph *graph,
                                  const struct mgds_gpu_user *user)
{
    for (size_t i = 0; i < graph->user_count; i++) {
        if (graph->users[i].user == user)
            return &graph->users[i];
    }
    return NULL;
}

static CUresult graph_retain(CUgraph graph_handle, CUuserObject handle,
                             unsigned count, unsigned flags)
{
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_user *user;
    struct mgds_user_ref *ref;
    CUresult rc = mgds_graph_find(graph_handle, &graph);

    if (rc == CUDA_SUCCESS)
        rc = find(handle, count, &user);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    ref = held(graph, user);
    if (!ref) {
        graph->users =
            mgds_gpu_grow(graph->users, graph->user_count + 1,
                          &graph->user_capacity, sizeof(*graph->users));
        ref = &graph->users[graph->user_count++];
        *ref = (struct mgds_user_ref){user, 0};
    }
    ref->count += count;
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
        mgds_user_get(user, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object,
                                 unsigned count, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_INIT, graph_retain(graph, object, count, flags));
}

static CUresult graph_release(CUgraph graph_handle, CUuserObject handle,
                              unsigned count)
{
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_user *user;
    struct mgds_user_ref *ref;
    CUresult rc = mgds_graph_find(graph_handle, &graph);

    if (rc == CUDA_SUCCESS)
        rc = find(handle, count, &user);
    if (rc != CUDA_SUCCESS)
        return rc;
    ref = held(graph, user);
    if (!ref || count > ref->count)
        return CUDA_ERROR_INVALID_VALUE;
    ref->count -= count;
    if (ref->count == 0)
        *ref = graph->users[--graph->user_count];
    mgds_user_put(user, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object,
                                  unsigned count)
{
    MGDS_API(call, MGDS_NEED_INIT, graph_release(graph, object, count));
}
