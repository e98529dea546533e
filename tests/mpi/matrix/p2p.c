/* Messages along a ring of all ranks; alone, to oneself. */
#include "tests/mpi/matrix/exchange.h"

/* How a message leaves. */
enum send_style {
    SEND,
    SSEND,
    BSEND,
    RSEND,
    SEND_C,
    ISEND, /* from here on with a request */
    ISSEND,
    IBSEND,
    IRSEND,
    ISEND_C,
};

/* How it is taken. */
enum recv_style {
    RECV,
    RECV_C,
    RECV_ANY,
    RECV_PROBED,
    RECV_BOTTOM,
    MRECV,
    IMRECV,
    IRECV, /* from here on with a request */
    IRECV_C,
    IRECV_ANY,
    IRECV_TEST,
    IRECV_SOME,
};

static MPI_Request send_start(struct mgds_mx_case *c,
                              const struct mgds_mx_exchange *x,
                              enum send_style style)
{
    const void *buf = x->send.user;
    MPI_Datatype type = x->type.mpi;
    MPI_Request request = MPI_REQUEST_NULL;
    int n = (int)x->count;
    int rc = MPI_SUCCESS;

    switch (style) {
    case SEND:
        rc = MPI_Send(buf, n, type, x->to, MGDS_MX_TAG, c->comm);
        break;
    case SSEND:
        rc = MPI_Ssend(buf, n, type, x->to, MGDS_MX_TAG, c->comm);
        break;
    case BSEND:
        rc = MPI_Bsend(buf, n, type, x->to, MGDS_MX_TAG, c->comm);
        break;
    case RSEND:
        rc = MPI_Rsend(buf, n, type, x->to, MGDS_MX_TAG, c->comm);
        break;
    case SEND_C:
        rc = MPI_Send_c(buf, n, type, x->to, MGDS_MX_TAG, c->comm);
        break;
    case ISEND:
        rc = MPI_Isend(buf, n, type, x->to, MGDS_MX_TAG, c->comm, &request);
        break;
    case ISSEND:
        rc = MPI_Issend(buf, n, type, x->to, MGDS_MX_TAG, c->comm, &request);
        break;
    case IBSEND:
        rc = MPI_Ibsend(buf, n, type, x->to, MGDS_MX_TAG, c->comm, &request);
        break;
    case IRSEND:
        rc = MPI_Irsend(buf, n, type, x->to, MGDS_MX_TAG, c->comm, &request);
        break;
    case ISEND_C:
        rc = MPI_Isend_c(buf, n, type, x->to, MGDS_MX_TAG, c->comm, &request);
        break;
    }
    mgds_mx_success(c, rc, "the send");
    return request;
}

static MPI_Request recv_start(struct mgds_mx_case *c,
                              const struct mgds_mx_exchange *x,
                              enum recv_style style)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int n = (int)x->room;
    void *buf = x->recv.user;
    MPI_Datatype type = x->type.mpi;
    int rc;

    if (style == IRECV_C)
        rc = MPI_Irecv_c(buf, n, type, x->from, MGDS_MX_TAG, c->comm, &request);
    else if (style == IRECV_ANY)
        rc = MPI_Irecv(buf, n, type, MPI_ANY_SOURCE, MPI_ANY_TAG, c->comm,
                       &request);
    else
        rc = MPI_Irecv(buf, n, type, x->from, MGDS_MX_TAG, c->comm, &request);
    mgds_mx_success(c, rc, "the receive");
    return request;
}

static void recv_wait(struct mgds_mx_case *c, MPI_Request *request,
                      enum recv_style style, MPI_Status *status)
{
    int flag = 0;
    int index;

    switch (style) {
    case IRECV_TEST:
        while (!flag && MGDS_MX(c, MPI_Test(request, &flag, status)))
            ;
        break;
    case IRECV_SOME:
        MGDS_MX(c, MPI_Waitsome(1, request, &flag, &index, status));
        if (flag != 1 || index != 0)
            mgds_mx_fail(c, "MPI_Waitsome: %d done, the first is %d", flag,
                         index);
        break;
    default:
        MGDS_MX(c, MPI_Wait(request, status));
    }
    if (*request != MPI_REQUEST_NULL)
        mgds_mx_fail(c, "a completed request is not MPI_REQUEST_NULL");
}

static void recv_matched(struct mgds_mx_case *c,
                         const struct mgds_mx_exchange *x,
                         enum recv_style style, MPI_Status *status)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status probed;
    int flag = 0;

    if (style == MRECV) {
        MGDS_MX(c,
                MPI_Mprobe(x->from, MGDS_MX_TAG, c->comm, &message, &probed));
        MGDS_MX(c, MPI_Mrecv(x->recv.user, (int)x->room, x->type.mpi, &message,
                             status));
    } else {
        while (!flag && MGDS_MX(c, MPI_Improbe(x->from, MGDS_MX_TAG, c->comm,
                                               &flag, &message, &probed)))
            ;
        MGDS_MX(c, MPI_Imrecv(x->recv.user, (int)x->room, x->type.mpi, &message,
                              &request));
        recv_wait(c, &request, IRECV, status);
    }
    mgds_mx_exchange_status(c, x, &probed);
    if (message != MPI_MESSAGE_NULL)
        mgds_mx_fail(c, "a received message is not MPI_MESSAGE_NULL");
}

/* Absolute addresses: the datatype says where, MPI_BOTTOM is the buffer. */
static void recv_bottom(struct mgds_mx_case *c,
                        const struct mgds_mx_exchange *x, MPI_Status *status)
{
    MPI_Datatype absolute;
    MPI_Aint at;
    int n = (int)x->room;

    MPI_Get_address(x->recv.user, &at);
    MPI_Type_create_hindexed(1, &n, &at, x->type.mpi, &absolute);
    MPI_Type_commit(&absolute);
    MGDS_MX(c, MPI_Recv(MPI_BOTTOM, 1, absolute, x->from, MGDS_MX_TAG, c->comm,
                        status));
    MPI_Type_free(&absolute);
}

static void recv_blocking(struct mgds_mx_case *c,
                          const struct mgds_mx_exchange *x,
                          enum recv_style style, MPI_Status *status)
{
    void *buf = x->recv.user;
    int n = (int)x->room;
    MPI_Status probed;

    switch (style) {
    case RECV_C:
        MGDS_MX(c, MPI_Recv_c(buf, n, x->type.mpi, x->from, MGDS_MX_TAG,
                              c->comm, status));
        break;
    case RECV_ANY:
        MGDS_MX(c, MPI_Recv(buf, n, x->type.mpi, MPI_ANY_SOURCE, MPI_ANY_TAG,
                            c->comm, status));
        break;
    case RECV_PROBED:
        MGDS_MX(c, MPI_Probe(x->from, MGDS_MX_TAG, c->comm, &probed));
        mgds_mx_exchange_status(c, x, &probed);
        MGDS_MX(c, MPI_Recv(buf, n, x->type.mpi, x->from, MGDS_MX_TAG, c->comm,
                            status));
        break;
    case RECV_BOTTOM:
        recv_bottom(c, x, status);
        break;
    case MRECV:
    case IMRECV:
        recv_matched(c, x, style, status);
        break;
    default:
        MGDS_MX(c, MPI_Recv(buf, n, x->type.mpi, x->from, MGDS_MX_TAG, c->comm,
                            status));
    }
}

/*
 * Blocking sends around a ring: even ranks send first. A send that may wait
 * for the same rank's receive, and a ready one, find the receive posted.
 */
static void exchange(struct mgds_mx_case *c, const struct mgds_mx_exchange *x,
                     MPI_Status *status)
{
    enum send_style send = (enum send_style)c->call->arg[0];
    enum recv_style recv = (enum recv_style)c->call->arg[1];
    int ready = send == RSEND || send == IRSEND;
    int posted = recv >= IRECV || ready || (c->ranks == 1 && send < ISEND);
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Request coming = MPI_REQUEST_NULL;

    if (posted)
        coming = recv_start(c, x, recv);
    if (ready)
        MPI_Barrier(c->comm);
    if (c->rank % 2 == 0 || posted)
        sent = send_start(c, x, send);
    if (posted)
        recv_wait(c, &coming, recv, status);
    else
        recv_blocking(c, x, recv, status);
    if (c->rank % 2 == 1 && !posted)
        sent = send_start(c, x, send);
    if (send >= ISEND)
        MGDS_MX(c, MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

static void run(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Status status = {.MPI_SOURCE = -100};

    if (mgds_mx_exchange_init(&x, c, c->call->arg[2]) < 0)
        return;
    exchange(c, &x, &status);
    mgds_mx_exchange_status(c, &x, &status);
    mgds_mx_exchange_check(c, &x, 0);
    mgds_mx_exchange_fini(&x);
}

/* arg: send style, receive style, room beyond the message in messages. */
const struct mgds_mx_call mgds_mx_p2p_calls[] = {
    {"Send", run, {SEND, RECV, 0}},
    {"Ssend", run, {SSEND, RECV, 0}},
    {"Bsend", run, {BSEND, RECV, 0}},
    {"Rsend", run, {RSEND, IRECV, 0}},
    {"Isend", run, {ISEND, IRECV, 0}},
    {"Issend", run, {ISSEND, IRECV, 0}},
    {"Ibsend", run, {IBSEND, IRECV, 0}},
    {"Irsend", run, {IRSEND, IRECV, 0}},
    {"Send_c", run, {SEND_C, RECV_C, 0}},
    {"Isend_c", run, {ISEND_C, IRECV_C, 0}},
    {"Recv_short", run, {SEND, RECV, 1}},
    {"Irecv_short", run, {ISEND, IRECV, 1}},
    {"Recv_any", run, {SEND, RECV_ANY, 0}},
    {"Irecv_any", run, {ISEND, IRECV_ANY, 0}},
    {"Recv_probed", run, {SEND, RECV_PROBED, 0}},
    {"Recv_bottom", run, {SEND, RECV_BOTTOM, 0}},
    {"Irecv_test", run, {ISEND, IRECV_TEST, 0}},
    {"Irecv_waitsome", run, {ISEND, IRECV_SOME, 0}},
    {"Mrecv", run, {ISEND, MRECV, 0}},
    {"Mrecv_short", run, {ISEND, MRECV, 1}},
    {"Imrecv", run, {ISEND, IMRECV, 0}},
    {"Imrecv_short", run, {ISEND, IMRECV, 1}},
    {NULL, NULL, {0}},
};
