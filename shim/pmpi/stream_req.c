/* Requests of stream communicators. */
#include "shim/pmpi/stream_req.h"

#include <errno.h>
#include <stddef.h>

#include "shim/base/alloc.h"

static void free_req(struct mgds_stream_req *req)
{
    mgds_op_put(req->op);
    mgds_op_put(req->other);
    if (req->has_packed)
        mgds_packed_fini(&req->packed);
    mgds_scomm_put(req->scomm);
    free(req);
}

/* 1 done (an operation that cannot be told about is over), 0 not yet. */
static int is_done(struct mgds_op *op)
{
    return !op || mgds_op_test(op) != 0;
}

static int poll_orphan(struct mgds_staged *staged)
{
    return is_done(((struct mgds_stream_req *)staged)->other);
}

static void destroy_orphan(struct mgds_staged *staged)
{
    free_req((struct mgds_stream_req *)staged);
}

static const struct mgds_staged_ops orphan_ops = {
    .kind = MGDS_STAGED_GREQ, .poll = poll_orphan, .destroy = destroy_orphan};

static void destroy(void *state)
{
    struct mgds_stream_req *req = state;

    if (req->has_packed && !is_done(req->other))
        mgds_staged_orphan(&req->orphan);
    else
        free_req(req);
}

static int end_of(struct mgds_op *op, MPI_Status *status)
{
    struct mgds_op_status end;

    mgds_op_status(op, &end);
    if (status)
        mgds_stream_status(status, &end);
    return end.error;
}

static int test(void *state, MPI_Status *status, int *error)
{
    struct mgds_stream_req *req = state;
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

static void cancel(void *state)
{
    struct mgds_stream_req *req = state;

    if (req->op && !req->other)
        mgds_op_cancel(req->op);
}

static MPI_Comm teller(const void *state)
{
    return mgds_scomm_teller(((const struct mgds_stream_req *)state)->scomm);
}

static const struct mgds_greq_ops req_ops = {
    .destroy = destroy, .test = test, .cancel = cancel, .teller = teller};

static struct mgds_stream_req *req_of(struct mgds_scomm *scomm)
{
    struct mgds_stream_req *req = mgds_calloc(1, sizeof(*req));

    if (!req)
        return NULL;
    req->orphan.ops = &orphan_ops;
    req->orphan.state = MGDS_STAGED_ACTIVE;
    req->orphan.comm = MPI_COMM_NULL;
    req->orphan.handle = MPI_REQUEST_NULL;
    req->scomm = scomm;
    mgds_scomm_get(scomm);
    return req;
}

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
    struct mgds_greq *greq;
    int rc = mgds_greq_create(&greq, req->scomm->handle, &req_ops, req);

    if (rc < 0) {
        free_req(req);
        return rc;
    }
    rc = start_ops(req, pair, (uint32_t)mgds_greq_handle(greq));
    if (rc < 0)
        mgds_greq_drop(greq);
    else
        mgds_greq_arm(greq, request);
    return rc;
}

static int start(MPI_Request *request, const struct mgds_stream_pair *pair,
                 struct mgds_scomm *scomm)
{
    struct mgds_stream_req *req = req_of(scomm);
    int rc;

    if (!req)
        return -ENOMEM;
    if (request)
        return start_for(req, request, pair);
    rc = start_ops(req, pair, 0);
    if (rc < 0)
        free_req(req);
    else
        destroy(req);
    return rc;
}

int mgds_stream_req_start(MPI_Request *request,
                          const struct mgds_stream_pair *pair)
{
    const struct mgds_stream_call *call =
        pair->receive ? pair->receive : pair->send;

    mgds_staged_orphans_poll();
    return mgds_stream_call_raise(call, start(request, pair, call->scomm));
}

struct mgds_stream_req *mgds_stream_req_find(MPI_Request handle,
                                             struct mgds_greq **greq)
{
    return mgds_greq_own_state(handle, &req_ops, greq);
}
