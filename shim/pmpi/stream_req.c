/* Requests of stream communicators. */
#include "shim/pmpi/stream_req.h"

#include <errno.h>
#include <stddef.h>

#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/request_table.h"

static struct mgds_stream_req *req_of(struct mgds_request *request)
{
    return (struct mgds_stream_req *)request;
}

static void release(struct mgds_request *request)
{
    struct mgds_stream_req *req = req_of(request);

    mgds_op_put(req->op);
    mgds_op_put(req->other);
    if (req->has_packed)
        mgds_packed_fini(&req->packed);
    mgds_scomm_put(req->scomm);
}

/* An operation that cannot be told about is over. */
static bool is_busy(const struct mgds_request *request)
{
    const struct mgds_stream_req *req = (const struct mgds_stream_req *)request;

    return req->has_packed && req->other && mgds_op_test(req->other) == 0;
}

static int end_of(struct mgds_op *op, MPI_Status *status)
{
    struct mgds_op_status end;

    mgds_op_status(op, &end);
    if (status)
        mgds_stream_status(status, &end);
    return end.error;
}

static int test(struct mgds_request *request, MPI_Status *status, int *error)
{
    struct mgds_stream_req *req = req_of(request);
    int rc;

    mgds_stream_status_empty(status);
    if (!req->op)
        return 1;
    rc = mgds_op_test(req->op);
    if (rc == 1 && req->other)
        rc = mgds_op_test(req->other);
    if (rc != 1)
        return rc;
    *error = end_of(req->op, status);
    if (*error == 0 && req->other)
        *error = end_of(req->other, NULL);
    return 1;
}

static void cancel(struct mgds_request *request)
{
    struct mgds_stream_req *req = req_of(request);

    if (req->op && !req->other)
        mgds_op_cancel(req->op);
}

static void gone(struct mgds_request *request)
{
    struct mgds_stream_req *req = req_of(request);

    if (req->place)
        *req->place = NULL;
    req->place = NULL;
}

static MPI_Comm teller(const struct mgds_request *request)
{
    return mgds_scomm_teller(((const struct mgds_stream_req *)request)->scomm);
}

static struct mgds_spares records =
    MGDS_SPARES_INIT(sizeof(struct mgds_stream_req));

/* Those that a wait in a stream has taken the operation out of. MPI's side of a
 * request costs more to make and to end than all of ours. */
static struct mgds_spares resting =
    MGDS_SPARES_INIT(sizeof(struct mgds_stream_req));

static const struct mgds_request_ops req_ops = {
    .kind = MGDS_REQUEST_IS_GENERALIZED,
    .spares = &records,
    .release = release,
    .test = test,
    .cancel = cancel,
    .teller = teller,
    .busy = is_busy,
    .gone = gone,
};

/* The receive could not be followed by its send: then there was none. */
static void take_back(struct mgds_stream_req *req)
{
    if (req->op)
        mgds_op_cancel(req->op);
}

/* A send alone is the op, unless its end is not the request's. */
static int start_ops(struct mgds_stream_req *req,
                     const struct mgds_stream_pair *pair, uint64_t name)
{
    bool beside = pair->receive || pair->done_at_once;
    int rc = 0;

    if (pair->send && pair->put_aside) {
        rc = mgds_packed_init(&req->packed, pair->send);
        req->has_packed = rc == 0;
    }
    if (rc == 0 && pair->receive)
        rc = mgds_stream_call_start(&req->op, pair->receive, name);
    if (rc < 0 || !pair->send)
        return rc;
    rc = mgds_stream_call_start(beside ? &req->other : &req->op, pair->send,
                                name);
    if (rc < 0)
        take_back(req);
    return rc;
}

static int start_for(struct mgds_stream_req *req, MPI_Request *request,
                     const struct mgds_stream_pair *pair)
{
    int rc = mgds_grequest_start(&req->request);

    if (rc < 0)
        return rc;
    rc = start_ops(req, pair, (uint32_t)req->request.handle);
    if (rc < 0)
        mgds_grequest_drop(&req->request);
    else
        mgds_grequest_begin(&req->request, request);
    return rc;
}

static struct mgds_stream_req *take_resting(void)
{
    struct mgds_stream_req *req;

    while ((req = mgds_spares_pop(&resting)) != NULL &&
           !mgds_grequest_is_at_rest(&req->request))
        mgds_request_put(&req->request);
    return req;
}

void mgds_stream_reqs_fini(void)
{
    struct mgds_stream_req *req;

    while ((req = take_resting()) != NULL)
        mgds_grequest_drop(&req->request);
}

static struct mgds_stream_req *create(struct mgds_scomm *scomm, bool shown)
{
    struct mgds_stream_req *req = shown ? take_resting() : NULL;

    if (!req)
        req = mgds_request_new(sizeof(*req), &req_ops, scomm->handle);
    if (!req)
        return NULL;
    req->request.comm = scomm->handle;
    req->scomm = scomm;
    mgds_scomm_get(scomm);
    return req;
}

static int start(MPI_Request *request, const struct mgds_stream_pair *pair,
                 struct mgds_scomm *scomm)
{
    struct mgds_stream_req *req = create(scomm, request != NULL);
    int rc;

    if (!req)
        return -ENOMEM;
    if (request)
        return start_for(req, request, pair);
    rc = start_ops(req, pair, 0);
    mgds_request_put(&req->request);
    return rc;
}

int mgds_stream_req_start(MPI_Request *request,
                          const struct mgds_stream_pair *pair)
{
    const struct mgds_stream_call *call =
        pair->receive ? pair->receive : pair->send;

    mgds_request_orphans_poll();
    return mgds_stream_call_raise(call, start(request, pair, call->scomm));
}

int mgds_stream_req_start_at(struct mgds_stream_req **place,
                             struct mgds_scomm *scomm,
                             const struct mgds_xfer *xfer, bool receives)
{
    struct mgds_stream_req *req = create(scomm, false);
    int rc;

    if (!req)
        return -ENOMEM;
    rc = receives ? mgds_op_recv(&req->op, scomm->domain, xfer)
                  : mgds_op_send(&req->op, scomm->domain, xfer);
    if (rc < 0) {
        mgds_request_put(&req->request);
        return rc;
    }
    req->place = place;
    *place = req;
    return 0;
}

/* The reference is MPI's from then on; what fails to start drops one. */
int mgds_stream_req_show(struct mgds_stream_req *req, MPI_Request *handle)
{
    int rc;

    if (req->request.state == MGDS_REQUEST_NEW) {
        mgds_request_get(&req->request);
        rc = mgds_grequest_start(&req->request);
        if (rc < 0)
            return rc;
        mgds_request_put(&req->request);
        mgds_grequest_begin(&req->request, handle);
    }
    *handle = req->request.handle;
    return 0;
}

void mgds_stream_req_leave(struct mgds_stream_req *req)
{
    if (req->request.state == MGDS_REQUEST_NEW) {
        gone(&req->request);
        mgds_request_put(&req->request);
        return;
    }
    if (req->has_packed || !mgds_grequest_rest(&req->request)) {
        mgds_grequest_discard(&req->request);
        return;
    }
    /* given back already */
    req->scomm = NULL;
    req->op = req->other = NULL;
    req->taken = false;
    if (!mgds_spares_push(&resting, req))
        mgds_grequest_drop(&req->request);
}

struct mgds_stream_req *mgds_stream_req_find(MPI_Request handle)
{
    return (struct mgds_stream_req *)mgds_requests_find_of(handle, &req_ops);
}
