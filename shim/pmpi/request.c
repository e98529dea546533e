/* Requests that we have something behind. */
#include "shim/pmpi/request.h"

#include <sched.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/pmpi/request_table.h"

void *mgds_request_new(size_t size, const struct mgds_request_ops *ops,
                       MPI_Comm comm)
{
    struct mgds_request *request =
        ops->spares ? mgds_spares_take(ops->spares) : mgds_calloc(1, size);

    if (!request)
        return NULL;
    request->ops = ops;
    request->state = MGDS_REQUEST_NEW;
    request->handle = MPI_REQUEST_NULL;
    request->comm = comm;
    request->refs = 1;
    request->general = MPI_REQUEST_NULL;
    request->below = MPI_REQUEST_NULL;
    return request;
}

void mgds_request_get(struct mgds_request *request)
{
    __atomic_fetch_add(&request->refs, 1, __ATOMIC_RELAXED);
}

bool mgds_request_try_get(struct mgds_request *request)
{
    unsigned refs = __atomic_load_n(&request->refs, __ATOMIC_RELAXED);

    while (refs > 0 &&
           !__atomic_compare_exchange_n(&request->refs, &refs, refs + 1, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        ;
    return refs > 0;
}

void mgds_request_release(struct mgds_request *request)
{
    if (!request->released)
        request->ops->release(request);
    request->released = true;
}

/* The reference is the list's now. MPI has forgotten the request, so no
 * communicator waits for it: the engine does. */
static void linger(struct mgds_request *request)
{
    request->refs = 1;
    request->handle = MPI_REQUEST_NULL;
    request->comm = MPI_COMM_NULL;
    mgds_request_step(request, MGDS_REQUEST_ON_LINGER);
    mgds_requests_add_orphan(request);
}

static void give_record(struct mgds_request *request)
{
    if (request->ops->spares)
        mgds_spares_give(request->ops->spares, request);
    else
        free(request);
}

void mgds_request_put(struct mgds_request *request)
{
    if (__atomic_sub_fetch(&request->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (!request->released && request->ops->busy &&
        request->ops->busy(request)) {
        linger(request);
        return;
    }
    mgds_request_release(request);
    give_record(request);
}

void mgds_request_step(struct mgds_request *request,
                       enum mgds_request_event event)
{
    enum mgds_request_state next =
        mgds_request_state_after(request->state, event);

    if (next == request->state)
        mgds_err("event %d is nothing for a request that %s: this is a bug in "
                 "MPIX-GDS",
                 (int)event, mgds_request_state_text(request->state));
    __atomic_store_n(&request->state, next, __ATOMIC_RELEASE);
}

void mgds_request_add(struct mgds_request *request)
{
    struct mgds_request *old = mgds_requests_insert(request);

    if (old)
        mgds_request_put(old);
}

static bool is_persistent(const struct mgds_request *request)
{
    return request->ops->kind == MGDS_REQUEST_IS_PERSISTENT;
}

mgds_word mgds_request_made(struct mgds_request *request,
                            const MPI_Request *handle, mgds_word result)
{
    if ((int)result != MPI_SUCCESS) {
        mgds_request_put(request);
        return result;
    }
    mgds_request_step(request, is_persistent(request) ? MGDS_REQUEST_ON_INIT
                                                      : MGDS_REQUEST_ON_BEGIN);
    request->handle = *handle;
    mgds_request_add(request);
    return result;
}

/* A SEND or PERSISTENT is complete, and nothing of it is under way. */
static void end(struct mgds_request *request)
{
    mgds_request_step(request, is_persistent(request) ? MGDS_REQUEST_ON_REST
                                                      : MGDS_REQUEST_ON_FINISH);
}

int mgds_request_land(struct mgds_request *request, MPI_Status *status,
                      bool has_data)
{
    if (!request->ops->landed || !has_data) {
        end(request);
        return 0;
    }
    mgds_request_step(request, MGDS_REQUEST_ON_COPY);
    return request->ops->landed(request, status);
}

int mgds_request_poll_copies(struct mgds_request *request)
{
    int rc = request->ops->poll(request);

    while (rc == 0 && request->ops->pulls && request->ops->pulls(request)) {
        sched_yield();
        rc = request->ops->poll(request);
    }
    return rc;
}

/* Refused sends are served meanwhile (direct_recv.c), so that an error handler
 * may free the request. */
int mgds_request_wait_copies(struct mgds_request *request)
{
    int rc;

    mgds_request_get(request);
    while ((rc = request->ops->poll(request)) == 0)
        sched_yield();
    if (request->state == MGDS_REQUEST_COPYING)
        end(request);
    mgds_request_put(request);
    return rc < 0 ? rc : 0;
}
