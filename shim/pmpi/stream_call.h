/*
 * A send or receive on a stream communicator, of whatever call it came from:
 * its arguments as MPI names them, checked, and made into what the engine
 * takes.
 */
#ifndef MGDS_PMPI_STREAM_CALL_H
#define MGDS_PMPI_STREAM_CALL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"
#include "shim/pmpi/side.h"
#include "shim/pmpi/stream_comm.h"

struct mgds_stream_call {
    struct mgds_scomm *scomm;
    const void *addr;
    MPI_Count count;
    MPI_Datatype type;
    int peer, tag;
    int index, peer_index; /* of streams: mine, the peer's */
    bool receives;
    bool sync;
    bool enqueued;
    bool waits;                   /* mgds_op_wait_enqueue follows at once */
    struct mgds_message *message; /* to be received, or NULL */
    const char *fills;            /* "status" or another argument that it fills,
                                     or NULL */
    const void *filled;           /* where */
};

/* MPI_SUCCESS; or an error code of MPI's, of which the communicator's error
 * handler was told. In the order in which MPICH looks: count, datatype, buffer
 * (of both nothing if there are no elements), peer, tag, what is filled. */
int mgds_stream_call_check(const struct mgds_stream_call *call);

/* What the following return: the code of a negative errno, told to the error
 * handler, or MPI_SUCCESS. */
int mgds_stream_call_raise(const struct mgds_stream_call *call, int rc);

/* Starts it: 0, and the caller's reference in *out, or negative errno. */
int mgds_stream_call_start(struct mgds_op **out,
                           const struct mgds_stream_call *call, uint64_t name);

/* What the engine takes for it, buffer and all, for calls that start it again
 * and again; the caller gives the layout back (mgds_buffer_put). 0 or negative
 * errno. */
int mgds_stream_call_prepare(struct mgds_xfer *xfer,
                             const struct mgds_stream_call *call);

/* The same for an enqueued one, with its stream's wait for it; no reference. */
int mgds_stream_call_run(const struct mgds_stream_call *call,
                         const struct mgds_op_sink *sink);

/* Until it is done; MPI and the wire go on meanwhile. Returns the error code of
 * the call and fills the status, unless that is MPI_STATUS_IGNORE. Gives the
 * reference back. */
int mgds_stream_call_wait(const struct mgds_stream_call *call,
                          struct mgds_op *op, MPI_Status *status);

/* An operation's end as MPI's status; MPI_ERROR is left alone. No MPI, any
 * thread. */
void mgds_stream_status(MPI_Status *out, const struct mgds_op_status *status);

/* The status of what is nothing. */
void mgds_stream_status_empty(MPI_Status *out);

/* Data put aside: what a call has to send, packed. */
struct mgds_packed {
    struct mgds_side side;
    void *memory; /* NULL: it is in the side's bounce */
};

/* 0, and the call sends what was put aside; or negative errno. */
int mgds_packed_init(struct mgds_packed *packed, struct mgds_stream_call *call);
void mgds_packed_fini(struct mgds_packed *packed);

#endif
