/*
 * Requests of stream communicators: generalized ones (grequest.h) around
 * operations of the engine.
 *
 *   start         the program's request; MPI's completion calls drive it
 *   Wait_enqueue  takes the operation out; the request goes
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
    bool taken; /* by a Wait_enqueue that is under way */
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

/* NULL: it is a request of another kind. */
struct mgds_stream_req *mgds_stream_req_find(MPI_Request handle);

#endif
