/*
 * Bodies of blocking point-to-point calls. What to do with a buffer is decided
 * by buffer.h and by whether there is a partner at all; the rest is order:
 * down, call below, up.
 */
#include "shim/pmpi/p2p.h"

#include <mpi.h>

#include "shim/pmpi/call.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_p2p.h"

/* An error of ours, met before or after the call below. */
static mgds_word fail(MPI_Comm comm, int rc)
{
    return (mgds_word)mgds_mpi_error(comm, rc);
}

int mgds_p2p_side(struct mgds_side *side, const struct mgds_call_words *call,
                  unsigned at, mgds_word peer, enum mgds_side_way way)
{
    if ((int)peer != MPI_PROC_NULL)
        return mgds_call_side(side, call, at, way);
    *side = mgds_side_passing((const void *)call->word[at],
                              mgds_call_count(call, at + 1),
                              (MPI_Datatype)call->word[at + 2]);
    return 0;
}

/* addr, count, type, peer, tag, comm */
static mgds_word send(struct mgds_call_words *call)
{
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[5]);
    MPI_Comm comm = (MPI_Comm)call->word[5];
    struct mgds_side side;
    mgds_word result;
    int rc;

    if (scomm)
        return mgds_stream_p2p_send(call, scomm);
    rc = mgds_p2p_side(&side, call, 0, call->word[3], MGDS_SIDE_SEND);
    mgds_request_orphans_poll();
    if (rc < 0)
        return fail(comm, rc);
    if (rc == 0)
        return mgds_call_forward(call);
    rc = mgds_side_down(&side);
    if (rc < 0) {
        mgds_side_fini(&side);
        return fail(comm, rc);
    }
    mgds_call_put(call, 0, &side);
    result = mgds_call_forward(call);
    mgds_side_fini(&side);
    return result;
}

MGDS_CALL_BODIES(Send, 6, send)
MGDS_CALL_BODIES(Ssend, 6, send)
MGDS_CALL_BODIES(Rsend, 6, send)
MGDS_CALL_BODIES(Bsend, 6, send)

/* The call below, then what it brought into side; status is at word at. */
static mgds_word receive_into(struct mgds_call_words *call, unsigned at,
                              struct mgds_side *side, MPI_Comm comm)
{
    MPI_Status spare;
    MPI_Status *status = mgds_call_status(call, at, &spare);
    mgds_word result = mgds_call_forward(call);
    int rc = mgds_side_up(side, status, (int)result);

    mgds_side_fini(side);
    if (rc < 0 && (int)result == MPI_SUCCESS)
        return fail(comm, rc);
    return result;
}

/* addr, count, type, then peer, tag, comm, status or message, status */
static mgds_word receive(struct mgds_call_words *call, unsigned status,
                         MPI_Comm comm, mgds_word peer)
{
    struct mgds_side side;
    int rc = mgds_p2p_side(&side, call, 0, peer, MGDS_SIDE_RECV);

    mgds_request_orphans_poll();
    if (rc < 0)
        return fail(comm, rc);
    if (rc == 0)
        return mgds_call_forward(call);
    mgds_call_put(call, 0, &side);
    return receive_into(call, status, &side, comm);
}

static mgds_word recv(struct mgds_call_words *call)
{
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[5]);

    if (scomm)
        return mgds_stream_p2p_recv(call, scomm);
    return receive(call, 6, (MPI_Comm)call->word[5], call->word[3]);
}

MGDS_CALL_BODIES(Recv, 7, recv)

mgds_word mgds_p2p_message_peer(const struct mgds_call_words *call)
{
    const MPI_Message *message = (const MPI_Message *)call->word[3];

    return message && *message == MPI_MESSAGE_NO_PROC
               ? (mgds_word)MPI_PROC_NULL
               : (mgds_word)MPI_ANY_SOURCE;
}

/* A message does not say its communicator. */
static mgds_word mrecv(struct mgds_call_words *call)
{
    mgds_word result;

    if (mgds_stream_p2p_mrecv(&result, call, true))
        return result;
    return receive(call, 4, MPI_COMM_NULL, mgds_p2p_message_peer(call));
}

MGDS_CALL_BODIES(Mrecv, 5, mrecv)

int mgds_p2p_pair(struct mgds_pair *pair, const struct mgds_call_words *call)
{
    int sent =
        mgds_p2p_side(&pair->send, call, 0, call->word[3], MGDS_SIDE_SEND);
    int received;

    if (sent < 0)
        return sent;
    received =
        mgds_p2p_side(&pair->recv, call, 5, call->word[8], MGDS_SIDE_RECV);
    if (received >= 0 && sent == 1) {
        int rc = mgds_side_down(&pair->send);

        if (rc >= 0)
            return 1;
        mgds_side_fini(&pair->recv);
        received = rc;
    }
    if (received < 0)
        mgds_side_fini(&pair->send);
    return received;
}

/* sent: addr, count, type, dest, tag; received: the same from 5; comm, status
 */
static mgds_word sendrecv(struct mgds_call_words *call)
{
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[10]);
    MPI_Comm comm = (MPI_Comm)call->word[10];
    struct mgds_pair pair;
    mgds_word result;
    int rc;

    if (scomm)
        return mgds_stream_p2p_sendrecv(call, scomm);
    rc = mgds_p2p_pair(&pair, call);
    if (rc < 0)
        return fail(comm, rc);
    if (rc == 0)
        return mgds_call_forward(call);
    mgds_call_put(call, 0, &pair.send);
    mgds_call_put(call, 5, &pair.recv);
    result = receive_into(call, 11, &pair.recv, comm);
    mgds_side_fini(&pair.send);
    return result;
}

MGDS_CALL_BODIES(Sendrecv, 12, sendrecv)

/* addr, count, type, dest, tag, source, tag, comm, status */
static mgds_word sendrecv_replace(struct mgds_call_words *call)
{
    bool sends = (int)call->word[3] != MPI_PROC_NULL;
    bool receives = (int)call->word[5] != MPI_PROC_NULL;
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[7]);
    MPI_Comm comm = (MPI_Comm)call->word[7];
    struct mgds_side side;
    int rc;

    if (scomm)
        return mgds_stream_p2p_replace(call, scomm, true);
    rc = sends || receives ? mgds_call_side(&side, call, 0, MGDS_SIDE_SEND) : 0;
    if (rc < 0)
        return fail(comm, rc);
    if (rc == 0)
        return mgds_call_forward(call);
    rc = sends ? mgds_side_down(&side) : 0;
    if (rc < 0) {
        mgds_side_fini(&side);
        return fail(comm, rc);
    }
    mgds_call_put(call, 0, &side);
    return receive_into(call, 8, &side, comm);
}

MGDS_CALL_BODIES(Sendrecv_replace, 9, sendrecv_replace)
