/*
 * Bodies of blocking point-to-point calls. What to do with a buffer is decided
 * by buffer.h and by whether there is a partner at all; the rest is order:
 * down, call below, up.
 */
#include "shim/pmpi/p2p.h"

#include <mpi.h>

#include "shim/base/alloc.h"
#include "shim/pmpi/call.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_exchange.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/direct_send.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/hostrecv.h"
#include "shim/pmpi/kept.h"
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
    if (mgds_direct_send(&result, call))
        return result;
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

/* What a receive that ended with result brought into side. */
static mgds_word received(struct mgds_side *side, MPI_Status *status,
                          MPI_Comm comm, mgds_word result)
{
    int rc = mgds_side_up(side, status, (int)result);

    mgds_side_fini(side);
    if (rc < 0 && (int)result == MPI_SUCCESS)
        return fail(comm, rc);
    return result;
}

/* The call below, then what it brought into side; status is at word at. */
static mgds_word receive_into(struct mgds_call_words *call, unsigned at,
                              struct mgds_side *side, MPI_Comm comm)
{
    MPI_Status spare;
    MPI_Status *status = mgds_call_status(call, at, &spare);

    return received(side, status, comm, mgds_call_forward(call));
}

/* addr, count, type, source, tag, comm, status, on an armed rank */
static mgds_word receive_watched(struct mgds_call_words *call,
                                 struct mgds_side *side)
{
    const struct mgds_direct_match match = mgds_direct_match_of(call);
    MPI_Status spare;
    MPI_Status *status = mgds_call_status(call, 6, &spare);

    return received(side, status, match.comm,
                    (mgds_word)mgds_direct_receive(side, &match, status));
}

static mgds_word recv(struct mgds_call_words *call)
{
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[5]);
    MPI_Comm comm = (MPI_Comm)call->word[5];
    struct mgds_side side;
    mgds_word result;
    int rc;

    if (scomm)
        return mgds_stream_p2p_recv(call, scomm);
    if (mgds_direct_armed() && mgds_hostrecv_recv(&result, call))
        return result;
    rc = mgds_p2p_side(&side, call, 0, call->word[3], MGDS_SIDE_RECV);
    mgds_request_orphans_poll();
    if (rc < 0)
        return fail(comm, rc);
    if (rc == 0)
        return mgds_call_forward(call);
    if (side.direct)
        return receive_watched(call, &side);
    mgds_call_put(call, 0, &side);
    return receive_into(call, 6, &side, comm);
}

MGDS_CALL_BODIES(Recv, 7, recv)

mgds_word mgds_p2p_message_peer(const struct mgds_call_words *call)
{
    const MPI_Message *message = (const MPI_Message *)call->word[3];

    return message && *message == MPI_MESSAGE_NO_PROC
               ? (mgds_word)MPI_PROC_NULL
               : (mgds_word)MPI_ANY_SOURCE;
}

bool mgds_p2p_kept_message(struct mgds_p2p_message *out,
                           struct mgds_call_words *call, struct mgds_side *side)
{
    MPI_Message *message = (MPI_Message *)call->word[3];
    struct mgds_kept *kept =
        side->direct && message ? mgds_kept_take_message(*message) : NULL;

    *out = (struct mgds_p2p_message){MPI_COMM_NULL, MPI_MESSAGE_NULL};
    if (!kept)
        return false;
    *message = MPI_MESSAGE_NULL;
    out->comm = kept->comm;
    out->below = kept->message;
    call->word[3] = (mgds_word)&out->below;
    if (kept->message == MPI_MESSAGE_NULL) {
        mgds_direct_recv_give(side->direct, kept);
        return true;
    }
    free(kept);
    return false;
}

/* addr, count, type, message, status. A message does not say its communicator.
 */
static mgds_word mrecv(struct mgds_call_words *call)
{
    struct mgds_p2p_message message;
    struct mgds_side side;
    MPI_Status spare;
    mgds_word result;
    int rc;

    if (mgds_stream_p2p_mrecv(&result, call, true))
        return result;
    rc = mgds_p2p_side(&side, call, 0, mgds_p2p_message_peer(call),
                       MGDS_SIDE_RECV);
    mgds_request_orphans_poll();
    if (rc < 0)
        return fail(MPI_COMM_NULL, rc);
    if (rc == 0)
        return mgds_call_forward(call);
    if (mgds_p2p_kept_message(&message, call, &side))
        return received(&side, mgds_call_status(call, 4, &spare), message.comm,
                        MPI_SUCCESS);
    mgds_call_put(call, 0, &side);
    return receive_into(call, 4, &side, message.comm);
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

/* Sendrecv and Sendrecv_replace of an armed rank; status is at word at. */
static mgds_word exchange_watched(struct mgds_call_words *call, unsigned at,
                                  struct mgds_direct_exchange *exchange)
{
    MPI_Status spare;
    int rc =
        mgds_direct_exchange_run(exchange, mgds_call_status(call, at, &spare));

    mgds_side_fini(&exchange->send);
    mgds_side_fini(&exchange->recv);
    return (mgds_word)rc;
}

/* As mgds_p2p_pair, for an armed rank: what goes by header is not staged. */
static int look_at_exchange(struct mgds_direct_exchange *exchange,
                            const struct mgds_call_words *call)
{
    struct mgds_call_words send = *call;
    struct mgds_pair pair;
    int rc;

    send.twin = MGDS_CALL_Send_c;
    send.word[5] = call->word[10];
    if (mgds_direct_offer_create(&exchange->offer, &send) == 0) {
        rc = mgds_p2p_pair(&pair, call);
        exchange->send = pair.send;
        exchange->recv = pair.recv;
        return rc;
    }
    exchange->send =
        mgds_side_passing((const void *)call->word[0], mgds_call_count(call, 1),
                          (MPI_Datatype)call->word[2]);
    rc = mgds_p2p_side(&exchange->recv, call, 5, call->word[8], MGDS_SIDE_RECV);
    if (rc < 0)
        mgds_direct_offer_destroy(exchange->offer);
    return rc < 0 ? rc : 1;
}

/* On an armed rank. */
static mgds_word sendrecv_watched(struct mgds_call_words *call)
{
    MPI_Comm comm = (MPI_Comm)call->word[10];
    struct mgds_direct_exchange exchange = {
        .from = {comm, (int)call->word[8], (int)call->word[9]},
        .dest = (int)call->word[3],
        .tag = (int)call->word[4]};
    int rc = look_at_exchange(&exchange, call);

    if (rc < 0)
        return fail(comm, rc);
    return rc == 0 ? mgds_call_forward(call)
                   : exchange_watched(call, 11, &exchange);
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
    if (mgds_direct_armed())
        return sendrecv_watched(call);
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

int mgds_p2p_replace_pair(struct mgds_pair *pair,
                          const struct mgds_call_words *call)
{
    int rc = mgds_p2p_side(&pair->send, call, 0, call->word[3], MGDS_SIDE_SEND);

    if (rc < 0)
        return rc;
    rc = mgds_side_down(&pair->send);
    if (rc == 0)
        rc =
            mgds_p2p_side(&pair->recv, call, 0, call->word[5], MGDS_SIDE_APART);
    if (rc <= 0)
        mgds_side_fini(&pair->send);
    return rc;
}

/* addr, count, type, dest, tag, source, tag, comm, status: on an armed rank */
static mgds_word replace_watched(struct mgds_call_words *call)
{
    MPI_Comm comm = (MPI_Comm)call->word[7];
    struct mgds_direct_exchange exchange = {
        .from = {comm, (int)call->word[5], (int)call->word[6]},
        .dest = (int)call->word[3],
        .tag = (int)call->word[4]};
    struct mgds_pair pair;
    int rc = mgds_p2p_replace_pair(&pair, call);

    if (rc < 0)
        return fail(comm, rc);
    exchange.send = pair.send;
    exchange.recv = pair.recv;
    exchange.apart = !pair.send.bounce;
    return rc == 0 ? mgds_call_forward(call)
                   : exchange_watched(call, 8, &exchange);
}

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
    if (receives && mgds_direct_armed())
        return replace_watched(call);
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
