/*
 * Requests of stream communicators: generalized ones (grequest.h) around
 * operations of the engine.
 *
 *   start         the program's request; MPI's completion calls drive it
 *   Wait_enqueue  takes the operation out; the request rests, and the next
 *                 start has its handle
 *   persistent    the program has another handle (stream_persist.h): it stays
 *                 NEW until a completion call of MPI's must see it
 *   freed         the operation goes on; memory of ours that it reads stays,
 *                 with the record, until it is done (LINGERING)
 */
#ifndef MGDS_PMPI_STREAM_REQ_H
#define MGDS_PMPI_STREAM_REQ_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/grequest.h"
#include "shim/pmpi/stream_call.h"

struct mgds_stream_req {
    struct mgds_request request; /* first */
    struct mgds_scomm *scomm;
    struct mgds_op *op;    /* NULL: done at once */
    struct mgds_op *other; /* the send beside a receive, or NULL */
    struct mgds_packed packed;
    bool has_packed;
    bool taken;                     /* by a Wait_enqueue that is under way */
    struct mgds_stream_req **place; /* where its persistent request has it,
                                       until it goes; or NULL: it is of none */
};

/* The pieces of a request; receive and send may be NULL. */
struct mgds_stream_pair {
    struct mgds_stream_call *receive;
    struct mgds_stream_call *send;
    bool put_aside;    /* pack what is sent first */
    bool done_at_once; /* a buffered send: complete when it returns */
};

/* Starts both, and gives the request; an error code of MPI's. request NULL: of
 * a buffered send, which nobody waits for. */
int mgds_stream_req_start(MPI_Request *request,
                          const struct mgds_stream_pair *pair);

/* Starts what a persistent request does, and puts it to *place, which is NULL
 * and is that again when it is gone. 0 or negative errno. */
int mgds_stream_req_start_at(struct mgds_stream_req **place,
                             struct mgds_scomm *scomm,
                             const struct mgds_xfer *xfer, bool receives);

/* Its handle, for MPI's completion calls: made when it is first asked for. 0,
 * or -ENOMEM, and nothing has changed. */
int mgds_stream_req_show(struct mgds_stream_req *req, MPI_Request *handle);

/* Nobody asks for it any more: it goes, and its operation goes on. */
void mgds_stream_req_leave(struct mgds_stream_req *req);

/* Before the MPI below is finalized: it has no request of ours any more that
 * the program does not have. */
void mgds_stream_reqs_fini(void);

/* NULL: it is a request of another kind. */
struct mgds_stream_req *mgds_stream_req_find(MPI_Request handle);

#endif
