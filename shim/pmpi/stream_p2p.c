/* Ordinary point-to-point calls on stream communicators, and MPIX_Stream_send
 * and its kin, which name streams. */
#include "shim/pmpi/stream_p2p.h"

#include <errno.h>

#include "shim/base/log.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"

/* The buffer at word at, and the peer and tag that follow it. */
static struct mgds_stream_call read_words(const struct mgds_call_words *words,
                                          unsigned at, struct mgds_scomm *scomm)
{
    return (struct mgds_stream_call){
        .scomm = scomm,
        .addr = (const void *)words->word[at],
        .count = mgds_call_count(words, at + 1),
        .type = (MPI_Datatype)words->word[at + 2],
        .peer = (int)words->word[at + 3],
        .tag = (int)words->word[at + 4],
    };
}

static mgds_word end(struct mgds_scomm *scomm, int rc)
{
    mgds_scomm_put(scomm);
    return (mgds_word)rc;
}

static int begin(const struct mgds_stream_call *call)
{
    mgds_request_orphans_poll();
    mgds_scomm_raise(call->scomm);
    return mgds_stream_call_check(call);
}

static int begin_status(struct mgds_stream_call *call, const void *status)
{
    call->fills = "status";
    call->filled = status;
    return begin(call);
}

static int begin_request(struct mgds_stream_call *call, const void *request)
{
    call->fills = "request";
    call->filled = request;
    return begin(call);
}

/* Both of a Sendrecv: the receive first, or two could wait for each other. */
static int run(const struct mgds_stream_call *receive,
               const struct mgds_stream_call *send, MPI_Status *status)
{
    MPI_Comm comm = mgds_scomm_teller(receive ? receive->scomm : send->scomm);
    struct mgds_op *received = NULL;
    struct mgds_op *sent = NULL;
    int met = MPI_SUCCESS;
    int rc = receive ? mgds_stream_call_start(&received, receive, 0) : 0;

    if (rc == 0 && send)
        rc = mgds_stream_call_start(&sent, send, 0);
    if (rc < 0) {
        if (received)
            mgds_op_cancel(received);
        mgds_op_put(received);
        return mgds_mpi_error(comm, rc);
    }
    if (receive)
        met = mgds_stream_call_wait(receive, received, status);
    if (send)
        rc = mgds_stream_call_wait(send, sent, MPI_STATUS_IGNORE);
    return met != MPI_SUCCESS ? met : rc;
}

static int start(MPI_Request *request, struct mgds_stream_call *receive,
                 struct mgds_stream_call *send)
{
    struct mgds_stream_pair pair = {.receive = receive, .send = send};

    return mgds_stream_req_start(request, &pair);
}

static int start_buffered(MPI_Request *request, struct mgds_stream_call *send)
{
    struct mgds_stream_pair pair = {
        .send = send, .put_aside = true, .done_at_once = true};

    return mgds_stream_req_start(request, &pair);
}

static bool is_buffered(const struct mgds_call_words *words)
{
    return words->twin == MGDS_CALL_Bsend_c ||
           words->twin == MGDS_CALL_Ibsend_c;
}

static bool is_synchronous(const struct mgds_call_words *words)
{
    return words->twin == MGDS_CALL_Ssend_c ||
           words->twin == MGDS_CALL_Issend_c;
}

mgds_word mgds_stream_p2p_send(const struct mgds_call_words *words,
                               struct mgds_scomm *scomm)
{
    struct mgds_stream_call call = read_words(words, 0, scomm);
    int rc;

    call.sync = is_synchronous(words);
    rc = begin(&call);
    if (rc == MPI_SUCCESS)
        rc = is_buffered(words) ? start_buffered(NULL, &call)
                                : run(NULL, &call, MPI_STATUS_IGNORE);
    return end(scomm, rc);
}

mgds_word mgds_stream_p2p_isend(const struct mgds_call_words *words,
                                struct mgds_scomm *scomm)
{
    struct mgds_stream_call call = read_words(words, 0, scomm);
    MPI_Request *request = (MPI_Request *)words->word[6];
    int rc;

    call.sync = is_synchronous(words);
    rc = begin_request(&call, request);
    if (rc == MPI_SUCCESS)
        rc = is_buffered(words) ? start_buffered(request, &call)
                                : start(request, NULL, &call);
    return end(scomm, rc);
}

mgds_word mgds_stream_p2p_recv(const struct mgds_call_words *words,
                               struct mgds_scomm *scomm)
{
    struct mgds_stream_call call = read_words(words, 0, scomm);
    int rc;

    call.receives = true;
    rc = begin_status(&call, (const void *)words->word[6]);
    if (rc == MPI_SUCCESS)
        rc = run(&call, NULL, (MPI_Status *)words->word[6]);
    return end(scomm, rc);
}

mgds_word mgds_stream_p2p_irecv(const struct mgds_call_words *words,
                                struct mgds_scomm *scomm)
{
    struct mgds_stream_call call = read_words(words, 0, scomm);
    int rc;

    call.receives = true;
    rc = begin_request(&call, (const void *)words->word[6]);
    if (rc == MPI_SUCCESS)
        rc = start((MPI_Request *)words->word[6], &call, NULL);
    return end(scomm, rc);
}

/* sent: addr, count, type, dest, tag; received: the same from 5; comm, then
 * status or request */
struct both {
    struct mgds_stream_call send, receive;
};

static int begin_both(struct both *both, const char *fills, mgds_word filled)
{
    int rc = begin(&both->send);

    both->receive.receives = true;
    both->receive.fills = fills;
    both->receive.filled = (const void *)filled;
    return rc == MPI_SUCCESS ? mgds_stream_call_check(&both->receive) : rc;
}

mgds_word mgds_stream_p2p_sendrecv(const struct mgds_call_words *words,
                                   struct mgds_scomm *scomm)
{
    struct both both = {read_words(words, 0, scomm),
                        read_words(words, 5, scomm)};
    int rc = begin_both(&both, "status", words->word[11]);

    if (rc == MPI_SUCCESS)
        rc = run(&both.receive, &both.send, (MPI_Status *)words->word[11]);
    return end(scomm, rc);
}

mgds_word mgds_stream_p2p_isendrecv(const struct mgds_call_words *words,
                                    struct mgds_scomm *scomm)
{
    struct both both = {read_words(words, 0, scomm),
                        read_words(words, 5, scomm)};
    int rc = begin_both(&both, "request", words->word[11]);

    if (rc == MPI_SUCCESS)
        rc = start((MPI_Request *)words->word[11], &both.receive, &both.send);
    return end(scomm, rc);
}

static int replace(struct both *both, MPI_Status *status)
{
    struct mgds_packed packed;
    int rc = mgds_packed_init(&packed, &both->send);

    if (rc < 0)
        return mgds_mpi_error(mgds_scomm_teller(both->send.scomm), rc);
    rc = run(&both->receive, &both->send, status);
    mgds_packed_fini(&packed);
    return rc;
}

static int ireplace(struct both *both, MPI_Request *request)
{
    struct mgds_stream_pair pair = {
        .receive = &both->receive, .send = &both->send, .put_aside = true};

    return mgds_stream_req_start(request, &pair);
}

/* addr, count, type, dest, tag, source, tag, comm, status or request */
mgds_word mgds_stream_p2p_replace(const struct mgds_call_words *words,
                                  struct mgds_scomm *scomm, bool blocking)
{
    struct both both = {read_words(words, 0, scomm),
                        read_words(words, 0, scomm)};
    int rc;

    both.receive.peer = (int)words->word[5];
    both.receive.tag = (int)words->word[6];
    rc = begin_both(&both, blocking ? "status" : "request", words->word[8]);
    if (rc != MPI_SUCCESS)
        return end(scomm, rc);
    if (blocking)
        rc = replace(&both, (MPI_Status *)words->word[8]);
    else
        rc = ireplace(&both, (MPI_Request *)words->word[8]);
    return end(scomm, rc);
}

/* addr, count, type, message, status or request */
bool mgds_stream_p2p_mrecv(mgds_word *result,
                           const struct mgds_call_words *words, bool blocking)
{
    MPI_Message *handle = (MPI_Message *)words->word[3];
    struct mgds_stream_message taken;
    struct mgds_stream_call call;
    int rc;

    if (!mgds_scomms_used() || !handle || !mgds_messages_take(&taken, *handle))
        return false;
    call = (struct mgds_stream_call){.scomm = taken.scomm,
                                     .addr = (const void *)words->word[0],
                                     .count = mgds_call_count(words, 1),
                                     .type = (MPI_Datatype)words->word[2],
                                     .receives = true,
                                     .message = taken.engine};
    rc = blocking ? begin_status(&call, (const void *)words->word[4])
                  : begin_request(&call, (const void *)words->word[4]);
    *result = (mgds_word)rc;
    if (rc != MPI_SUCCESS && mgds_messages_add(handle, &taken) == 0)
        return true;
    if (rc == MPI_SUCCESS && blocking)
        rc = run(&call, NULL, (MPI_Status *)words->word[4]);
    else if (rc == MPI_SUCCESS)
        rc = start((MPI_Request *)words->word[4], &call, NULL);
    *handle = MPI_MESSAGE_NULL;
    *result = end(taken.scomm, rc);
    return true;
}

mgds_word mgds_stream_p2p_init(const struct mgds_call_words *words,
                               struct mgds_scomm *scomm)
{
    struct mgds_stream_call call = read_words(words, 0, scomm);
    MPI_Request *request = (MPI_Request *)words->word[6];
    int rc;

    call.receives = words->twin == MGDS_CALL_Recv_init_c;
    call.sync = words->twin == MGDS_CALL_Ssend_init_c;
    rc = begin_request(&call, request);
    if (rc == MPI_SUCCESS)
        rc = mgds_stream_persist_make(request, &call,
                                      words->twin == MGDS_CALL_Bsend_init_c);
    return end(scomm, rc);
}

bool mgds_stream_p2p_refuses(mgds_word *result, mgds_word comm)
{
    struct mgds_scomm *scomm = mgds_scomm_of(comm);

    if (!scomm)
        return false;
    *result =
        end(scomm,
            mgds_mpi_refuse((MPI_Comm)comm, MPI_ERR_UNSUPPORTED_OPERATION,
                            "partitioned communication is not there for stream "
                            "communicators yet: use a persistent request for "
                            "each partition (MPI_Send_init, MPI_Recv_init)"));
    return true;
}

/* MPIX_Stream_send and its kin. */

static struct mgds_stream_call call_of(const struct mgds_mpix_args *args,
                                       bool receives)
{
    return (struct mgds_stream_call){
        .scomm = mgds_scomm_of((mgds_word)args->comm),
        .addr = args->buf,
        .count = args->count,
        .type = args->type,
        .peer = args->peer,
        .tag = args->tag,
        .index = receives ? args->to : args->from,
        .peer_index = receives ? args->from : args->to,
        .receives = receives};
}

static int refuse_comm(MPI_Comm comm)
{
    int rc = mgds_mpi_check_comm(comm);

    if (rc != MPI_SUCCESS)
        return rc;
    return mgds_mpi_refuse(comm, MPI_ERR_COMM,
                           "comm is no stream communicator: make it with "
                           "MPIX_Stream_comm_create");
}

static int block(const struct mgds_mpix_args *args, bool receives)
{
    struct mgds_stream_call call = call_of(args, receives);
    int rc;

    if (!call.scomm)
        return refuse_comm(args->comm);
    rc = receives ? begin_status(&call, args->status) : begin(&call);
    if (rc == MPI_SUCCESS && receives)
        rc = run(&call, NULL, args->status);
    else if (rc == MPI_SUCCESS)
        rc = run(NULL, &call, MPI_STATUS_IGNORE);
    return (int)end(call.scomm, rc);
}

static int start_one(const struct mgds_mpix_args *args, bool receives)
{
    struct mgds_stream_call call = call_of(args, receives);
    int rc;

    if (!call.scomm)
        return refuse_comm(args->comm);
    rc = begin_request(&call, args->request);
    if (rc == MPI_SUCCESS)
        rc = start(args->request, receives ? &call : NULL,
                   receives ? NULL : &call);
    return (int)end(call.scomm, rc);
}

int mgds_mpix_Stream_send(const struct mgds_mpix_args *args)
{
    return block(args, false);
}

int mgds_mpix_Stream_recv(const struct mgds_mpix_args *args)
{
    return block(args, true);
}

int mgds_mpix_Stream_isend(const struct mgds_mpix_args *args)
{
    return start_one(args, false);
}

int mgds_mpix_Stream_irecv(const struct mgds_mpix_args *args)
{
    return start_one(args, true);
}
