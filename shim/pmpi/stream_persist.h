/*
 * Persistent requests of stream communicators.
 *
 *   init       what is sent or received is looked at once: arguments, datatype
 *   start      makes an operation of it, a generation, and puts that in
 *              `current`, which says that the request is active
 *   complete   a host call has the generation stand for the request, as a
 *              generalized one (stream_req.h). Wait_enqueue hands its operation
 *              to the stream: the request is inactive then, and the generation
 *              under way, until the stream has passed the wait
 *   freed      what is current goes on by itself; the record stays, LINGERING,
 *              while generations are under way
 *
 * The program's handle is a persistent request of the MPI below, which receives
 * from nobody and is never started: a call that we do not see finds it
 * inactive.
 *
 * Concurrency. As request.h has it; under_way is atomic. Who has the last
 * generation's wait pass, under the engine's lock, counts it down and touches
 * the record no more.
 */
#ifndef MGDS_PMPI_STREAM_PERSIST_H
#define MGDS_PMPI_STREAM_PERSIST_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/gds/comm/comm.h"
#include "shim/pmpi/request.h"
#include "shim/pmpi/stream_call.h"

struct mgds_stream_req;

struct mgds_stream_persist {
    struct mgds_request request; /* first */
    struct mgds_scomm *scomm;    /* a reference */
    struct mgds_xfer xfer;       /* of each start, with a reference to the
                                    layout: constant */
    bool receives;
    bool chosen;                     /* by a Startall that is under way */
    struct mgds_stream_req *current; /* NULL: it is inactive */
    unsigned under_way;
};

/* Makes one of a call that was checked; an error code of MPI's. */
int mgds_stream_persist_make(MPI_Request *request,
                             const struct mgds_stream_call *call,
                             bool buffered);

/* NULL: a request of another kind. */
struct mgds_stream_persist *mgds_stream_persist_find(MPI_Request handle);

/* That has the request as its current one, or NULL. */
struct mgds_stream_persist *
mgds_stream_persist_of(const struct mgds_stream_req *req);

/* Starts an inactive one; enqueued: in the order of its stream, which is a GPU
 * stream. An error code of MPI's. */
int mgds_stream_persist_start(struct mgds_stream_persist *persist,
                              bool enqueued);

/* Are there generations whose waits their streams have not passed? Makes
 * progress if there are. */
bool mgds_stream_persist_is_under_way(
    const struct mgds_stream_persist *persist);

/* Counts the current generation among those, from before its wait is enqueued;
 * the sink, which goes on to what it was, counts it down. 0 or -ENOMEM. */
int mgds_stream_persist_hand_over(struct mgds_stream_persist *persist,
                                  struct mgds_op_sink *sink);
/* The wait was not enqueued. */
void mgds_stream_persist_take_back(const struct mgds_op_sink *sink);

/* MPI_Cancel, MPI_Request_free: error codes of MPI's. */
int mgds_stream_persist_cancel(struct mgds_stream_persist *persist);
int mgds_stream_persist_free(struct mgds_stream_persist *persist,
                             MPI_Request *request);

#endif
