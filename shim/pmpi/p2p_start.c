/*
 * Bodies of nonblocking point-to-point calls. A send is copied before it
 * returns and keeps the request of the MPI below; a receive is a generalized
 * request (grequest.h), so that the copy up is part of its completion, or, into
 * host memory, one with a handle of our own (hostreq.h).
 */
#include <errno.h>
#include <mpi.h>
#include <stddef.h>

#include "shim/pmpi/call.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/direct_send.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/hostreq.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/p2p.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_p2p.h"

static mgds_word fail(MPI_Comm comm, int rc)
{
    return (mgds_word)mgds_mpi_error(comm, rc);
}

/* A send whose request is known below. */
struct sent {
    struct mgds_request request; /* first */
    struct mgds_side side;
};

static void sent_release(struct mgds_request *request)
{
    mgds_side_fini(&((struct sent *)request)->side);
}

static const struct mgds_request_ops sent_ops = {.kind = MGDS_REQUEST_IS_SEND,
                                                 .release = sent_release};

/* Takes the side over, whatever comes of it. */
static int sent_create(struct sent **out, struct mgds_side *side, MPI_Comm comm)
{
    struct sent *sent = mgds_request_new(sizeof(*sent), &sent_ops, comm);
    int rc;

    if (!sent) {
        mgds_side_fini(side);
        return -ENOMEM;
    }
    sent->side = *side;
    rc = mgds_side_down(&sent->side);
    if (rc < 0)
        mgds_request_put(&sent->request);
    else
        *out = sent;
    return rc < 0 ? rc : 0;
}

/* addr, count, type, peer, tag, comm, request */
static mgds_word isend(struct mgds_call_words *call)
{
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[5]);
    MPI_Comm comm = (MPI_Comm)call->word[5];
    struct mgds_side side;
    struct sent *sent = NULL;
    mgds_word result;
    int rc;

    if (scomm)
        return mgds_stream_p2p_isend(call, scomm);
    if (mgds_direct_isend(&result, call))
        return result;
    rc = mgds_p2p_side(&side, call, 0, call->word[3], MGDS_SIDE_SEND);
    mgds_request_orphans_poll();
    if (rc == 0)
        return mgds_call_forward(call);
    if (rc == 1)
        rc = sent_create(&sent, &side, comm);
    if (rc != 0)
        return fail(comm, rc);
    mgds_call_put(call, 0, &side);
    return mgds_request_made(&sent->request, (MPI_Request *)call->word[6],
                             mgds_call_forward(call));
}

MGDS_CALL_BODIES(Isend, 7, isend)
MGDS_CALL_BODIES(Issend, 7, isend)
MGDS_CALL_BODIES(Irsend, 7, isend)
MGDS_CALL_BODIES(Ibsend, 7, isend)

/* A receive. */
struct received {
    struct mgds_request request; /* first */
    struct mgds_side side;
    struct mgds_side sent;    /* Isendrecv: the other half */
    MPI_Request sent_request; /* its request, or MPI_REQUEST_NULL */
    int sent_error;           /* negative errno of the send, which is over */
    int came;                 /* 1, or negative errno: the receive is over */
    bool apart; /* what comes lands where the send is read from below */
};

static struct received *received_of(struct mgds_request *request)
{
    return (struct received *)request;
}

static int received_landed(struct mgds_request *request, MPI_Status *status)
{
    return mgds_side_land(&received_of(request)->side, status);
}

/* 1: its other half is over; 0; or negative errno. */
static int poll_sent(struct received *received)
{
    int flag = 1;

    if (received->sent_request != MPI_REQUEST_NULL &&
        (int)MGDS_NEXT(Test, 3)((mgds_word)&received->sent_request,
                                (mgds_word)&flag,
                                (mgds_word)MPI_STATUS_IGNORE) != MPI_SUCCESS)
        received->sent_error = -EIO;
    return received->sent_error < 0 ? received->sent_error : flag;
}

/* Both halves go on, whichever is over first. */
static int received_poll(struct mgds_request *request)
{
    struct received *received = received_of(request);
    int sent = poll_sent(received);

    if (received->came == 0)
        received->came = mgds_side_poll(&received->side);
    if (sent == 0 || received->came == 0)
        return 0;
    return sent < 0 ? sent : received->came;
}

/* Poll tells the error of a send, too. */
static bool received_may_land(struct mgds_request *request)
{
    return !received_of(request)->apart || poll_sent(received_of(request)) != 0;
}

static bool received_pulls(const struct mgds_request *request)
{
    return mgds_side_pulls(&((const struct received *)request)->side);
}

static void received_release(struct mgds_request *request)
{
    if (received_of(request)->side.direct)
        mgds_direct_open_remove(request);
    mgds_side_fini(&received_of(request)->side);
    mgds_side_fini(&received_of(request)->sent);
}

static const struct mgds_request_ops received_ops = {
    .kind = MGDS_REQUEST_IS_GENERALIZED,
    .may_land = received_may_land,
    .landed = received_landed,
    .poll = received_poll,
    .pulls = received_pulls,
    .release = received_release};

/* Takes both sides over, whatever comes of it. */
static int received_create(struct received **out, struct mgds_pair *pair,
                           MPI_Comm comm)
{
    struct received *received =
        mgds_request_new(sizeof(*received), &received_ops, comm);

    if (!received) {
        mgds_side_fini(&pair->recv);
        mgds_side_fini(&pair->send);
        return -ENOMEM;
    }
    received->side = pair->recv;
    received->sent = pair->send;
    received->sent_request = MPI_REQUEST_NULL;
    *out = received;
    return mgds_grequest_start(&received->request);
}

/* The record of a receive, and below the call has begun with this result. */
static mgds_word begun(struct received *received, MPI_Request *user,
                       mgds_word result)
{
    if ((int)result != MPI_SUCCESS) {
        mgds_grequest_drop(&received->request);
        return result;
    }
    mgds_grequest_begin(&received->request, user);
    if (received->side.direct)
        mgds_direct_open_add(&received->request);
    return result;
}

/* addr, count, type, peer, ...: 1: there is a record; 0; or negative errno */
static int record(struct received **out, struct mgds_call_words *call,
                  mgds_word peer, MPI_Comm comm, enum mgds_side_way way)
{
    struct mgds_pair pair = {.send = mgds_side_passing(NULL, 0, MPI_BYTE)};
    int rc = mgds_p2p_side(&pair.recv, call, 0, peer, way);

    mgds_request_orphans_poll();
    if (rc <= 0)
        return rc;
    rc = received_create(out, &pair, comm);
    return rc < 0 ? rc : 1;
}

/* addr, count, type, source, tag, comm, request, on an armed rank */
static mgds_word start_watched(struct mgds_call_words *call,
                               struct received *received)
{
    const struct mgds_direct_match match = mgds_direct_match_of(call);
    int rc =
        mgds_direct_post(&received->side, &match, &received->request.below);

    return begun(received, (MPI_Request *)call->word[6], (mgds_word)rc);
}

/* Below, with its request where the record looks for it. */
static mgds_word start_below(struct mgds_call_words *call, unsigned request,
                             struct received *received)
{
    MPI_Request *user = (MPI_Request *)call->word[request];

    mgds_call_put(call, 0, &received->side);
    call->word[request] = (mgds_word)&received->request.below;
    return begun(received, user, mgds_call_forward(call));
}

/* With a record of ours. 1: the whole call; 0: it passes; or negative errno. */
static int irecv_recorded(mgds_word *result, struct mgds_call_words *call,
                          enum mgds_side_way way)
{
    struct received *received;
    int rc =
        record(&received, call, call->word[3], (MPI_Comm)call->word[5], way);

    if (rc == 1)
        *result = received->side.direct ? start_watched(call, received)
                                        : start_below(call, 6, received);
    return rc;
}

/* The same of an armed rank: into host memory by a handle of our own, if it has
 * room for a header. */
static int irecv_armed(mgds_word *result, struct mgds_call_words *call)
{
    int rc = mgds_hostreq_irecv(result, call, MGDS_HOSTREQ_ANY);

    if (rc == 0)
        rc = irecv_recorded(result, call, MGDS_SIDE_LATE);
    if (rc == 0)
        rc = mgds_hostreq_irecv(result, call, MGDS_HOSTREQ_HOST);
    return rc == -EBUSY ? irecv_recorded(result, call, MGDS_SIDE_RECV) : rc;
}

/* addr, count, type, source, tag, comm, request */
static mgds_word irecv(struct mgds_call_words *call)
{
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[5]);
    mgds_word result;
    int rc;

    if (scomm)
        return mgds_stream_p2p_irecv(call, scomm);
    rc = mgds_direct_armed() ? irecv_armed(&result, call)
                             : irecv_recorded(&result, call, MGDS_SIDE_RECV);
    if (rc < 0)
        return fail((MPI_Comm)call->word[5], rc);
    return rc == 1 ? result : mgds_call_forward(call);
}

MGDS_CALL_BODIES(Irecv, 7, irecv)

/* addr, count, type, message, request */
static mgds_word imrecv(struct mgds_call_words *call)
{
    struct mgds_p2p_message message;
    struct received *received;
    mgds_word result;
    bool came;
    int rc;

    if (mgds_stream_p2p_mrecv(&result, call, false))
        return result;
    rc = record(&received, call, mgds_p2p_message_peer(call), MPI_COMM_NULL,
                MGDS_SIDE_RECV);
    if (rc == 0)
        return mgds_call_forward(call);
    if (rc < 0)
        return fail(MPI_COMM_NULL, rc);
    came = mgds_p2p_kept_message(&message, call, &received->side);
    received->request.comm = message.comm;
    if (came)
        return begun(received, (MPI_Request *)call->word[4], MPI_SUCCESS);
    return start_below(call, 4, received);
}

MGDS_CALL_BODIES(Imrecv, 5, imrecv)

/* One half of an Isendrecv. MPICH 4.0.2 gives the request of its own one no
 * status, and we need to know how much came: so it is an Irecv and an Isend. */
struct half {
    enum mgds_call call;
    const struct mgds_side *side;
    mgds_word peer, tag;
    MPI_Request *request;
};

static int start_half(const struct half *half, MPI_Comm comm)
{
    const struct mgds_side *side = half->side;
    MGDS_FN(7) *start = (MGDS_FN(7) *)mgds_next(half->call, MGDS_FACE_PMPI);

    return (int)start((mgds_word)side->addr, (mgds_word)side->count,
                      (mgds_word)side->type, half->peer, half->tag,
                      (mgds_word)comm, (mgds_word)half->request);
}

static int post_watched(const struct half *half, MPI_Comm comm)
{
    const struct mgds_direct_match match = {
        .comm = comm, .source = (int)half->peer, .tag = (int)half->tag};

    return mgds_direct_post(half->side, &match, half->request);
}

/* The send could not be posted: then there was no receive either. */
static void take_back(MPI_Request *request)
{
    MGDS_NEXT(Cancel, 1)((mgds_word)request);
    MGDS_NEXT(Wait, 2)((mgds_word)request, (mgds_word)MPI_STATUS_IGNORE);
}

static int start_halves(const struct half *recv, const struct half *send,
                        MPI_Comm comm)
{
    int rc =
        recv->side->direct ? post_watched(recv, comm) : start_half(recv, comm);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = start_half(send, comm);
    if (rc != MPI_SUCCESS && *recv->request != MPI_REQUEST_NULL)
        take_back(recv->request);
    return rc;
}

/* Where the words of the two halves are, besides buffers. */
struct places {
    unsigned dest, send_tag, source, recv_tag, comm, request;
};

static mgds_word start_pair(const struct mgds_call_words *call,
                            struct mgds_pair *pair, const struct places *at,
                            bool apart)
{
    MPI_Comm comm = (MPI_Comm)call->word[at->comm];
    struct received *received;
    int rc = received_create(&received, pair, comm);
    struct half recv = {MGDS_CALL_Irecv_c, &pair->recv, call->word[at->source],
                        call->word[at->recv_tag], NULL};
    struct half send = {MGDS_CALL_Isend_c, &pair->send, call->word[at->dest],
                        call->word[at->send_tag], NULL};

    if (rc < 0)
        return fail(comm, rc);
    received->apart = apart;
    recv.request = &received->request.below;
    send.request = &received->sent_request;
    rc = start_halves(&recv, &send, comm);
    return begun(received, (MPI_Request *)call->word[at->request],
                 (mgds_word)rc);
}

/* As Sendrecv, with a request at the end. */
static mgds_word isendrecv(struct mgds_call_words *call)
{
    static const struct places at = {3, 4, 8, 9, 10, 11};
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[at.comm]);
    struct mgds_pair pair;
    int rc;

    if (scomm)
        return mgds_stream_p2p_isendrecv(call, scomm);
    rc = mgds_p2p_pair(&pair, call);
    if (rc < 0)
        return fail((MPI_Comm)call->word[at.comm], rc);
    return rc == 0 ? mgds_call_forward(call)
                   : start_pair(call, &pair, &at, false);
}

MGDS_CALL_BODIES(Isendrecv, 12, isendrecv)

/* The one buffer of the call, as two: 1, 0 or negative errno. */
static int look_at_both(struct mgds_pair *pair,
                        const struct mgds_call_words *call)
{
    int rc = mgds_call_side(&pair->send, call, 0, MGDS_SIDE_SEND);

    if (rc <= 0)
        return rc;
    rc = mgds_side_down(&pair->send);
    if (rc == 0)
        rc = mgds_call_side(&pair->recv, call, 0, MGDS_SIDE_RECV);
    if (rc < 0)
        mgds_side_fini(&pair->send);
    return rc < 0 ? rc : 1;
}

/* addr, count, type, dest, tag, source, tag, comm, request */
static mgds_word isendrecv_replace(struct mgds_call_words *call)
{
    static const struct places at = {3, 4, 5, 6, 7, 8};
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[at.comm]);
    struct mgds_pair pair;
    int rc;

    if (scomm)
        return mgds_stream_p2p_replace(call, scomm, false);
    if (mgds_direct_armed() && (int)call->word[at.source] != MPI_PROC_NULL)
        rc = mgds_p2p_replace_pair(&pair, call);
    else
        rc = look_at_both(&pair, call);
    if (rc < 0)
        return fail((MPI_Comm)call->word[at.comm], rc);
    if (rc == 0)
        return mgds_call_forward(call);
    return start_pair(call, &pair, &at, !pair.send.bounce);
}

MGDS_CALL_BODIES(Isendrecv_replace, 9, isendrecv_replace)
