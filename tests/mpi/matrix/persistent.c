/* Persistent and partitioned messages: started more than once. */
#include "tests/mpi/matrix/exchange.h"

#define ROUNDS 3
#define PARTITIONS 4

enum style { SEND, SSEND, BSEND, RSEND, SEND_C };

static int send_init(struct mgds_mx_case *c, const struct mgds_mx_exchange *x,
                     MPI_Request *request)
{
    const void *buf = x->send.user;
    MPI_Datatype type = x->type.mpi;
    int n = (int)x->count;

    switch ((enum style)c->call->arg[0]) {
    case SSEND:
        return MPI_Ssend_init(buf, n, type, x->to, MGDS_MX_TAG, c->comm,
                              request);
    case BSEND:
        return MPI_Bsend_init(buf, n, type, x->to, MGDS_MX_TAG, c->comm,
                              request);
    case RSEND:
        return MPI_Rsend_init(buf, n, type, x->to, MGDS_MX_TAG, c->comm,
                              request);
    case SEND_C:
        return MPI_Send_init_c(buf, n, type, x->to, MGDS_MX_TAG, c->comm,
                               request);
    default:
        return MPI_Send_init(buf, n, type, x->to, MGDS_MX_TAG, c->comm,
                             request);
    }
}

/* Ready sends start behind a barrier, the others with one call. */
static void start(struct mgds_mx_case *c, MPI_Request requests[2])
{
    if (c->call->arg[0] != RSEND) {
        MGDS_MX(c, MPI_Startall(2, requests));
        return;
    }
    MGDS_MX(c, MPI_Start(&requests[1]));
    MPI_Barrier(c->comm);
    MGDS_MX(c, MPI_Start(&requests[0]));
}

static void rounds(struct mgds_mx_case *c, struct mgds_mx_exchange *x,
                   MPI_Request requests[2])
{
    MPI_Status statuses[2];

    for (int round = 0; round < ROUNDS && !c->why[0]; round++) {
        mgds_mx_exchange_refill(c, x, round);
        start(c, requests);
        MGDS_MX(c, MPI_Waitall(2, requests, statuses));
        mgds_mx_exchange_status(c, x, &statuses[1]);
        mgds_mx_exchange_check(c, x, round);
    }
}

static void persistent(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Request requests[2];
    int made;

    if (mgds_mx_exchange_init(&x, c, c->call->arg[1]) < 0)
        return;
    made = MGDS_MX(c, send_init(c, &x, &requests[0]));
    made = made && MGDS_MX(c, MPI_Recv_init(x.recv.user, (int)x.room,
                                            x.type.mpi, x.from, MGDS_MX_TAG,
                                            c->comm, &requests[1]));
    if (made) {
        rounds(c, &x, requests);
        MGDS_MX(c, MPI_Request_free(&requests[0]));
        MGDS_MX(c, MPI_Request_free(&requests[1]));
    }
    mgds_mx_exchange_fini(&x);
}

static int partitions_of(const struct mgds_mx_exchange *x)
{
    return x->count > 0 && x->count % PARTITIONS == 0 ? PARTITIONS : 1;
}

/* Partitions become ready last first; arrival of each is asked for. */
static void partitioned_round(struct mgds_mx_case *c,
                              const struct mgds_mx_exchange *x,
                              MPI_Request requests[2])
{
    MPI_Status statuses[2];
    int n = partitions_of(x);

    MGDS_MX(c, MPI_Startall(2, requests));
    for (int i = n; i-- > 0;)
        MGDS_MX(c, MPI_Pready(i, requests[0]));
    for (int i = 0; i < n; i++) {
        int flag = 0;

        while (!flag && MGDS_MX(c, MPI_Parrived(requests[1], i, &flag)))
            ;
    }
    MGDS_MX(c, MPI_Waitall(2, requests, statuses));
}

static void partitioned(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Request requests[2];
    int n;
    int made;

    if (mgds_mx_exchange_init(&x, c, 0) < 0)
        return;
    n = partitions_of(&x);
    made = MGDS_MX(c, MPI_Psend_init(x.send.user, n, (MPI_Count)x.count / n,
                                     x.type.mpi, x.to, MGDS_MX_TAG, c->comm,
                                     MPI_INFO_NULL, &requests[0])) &&
           MGDS_MX(c, MPI_Precv_init(x.recv.user, n, (MPI_Count)x.count / n,
                                     x.type.mpi, x.from, MGDS_MX_TAG, c->comm,
                                     MPI_INFO_NULL, &requests[1]));
    for (int round = 0; made && round < ROUNDS && !c->why[0]; round++) {
        mgds_mx_exchange_refill(c, &x, round);
        partitioned_round(c, &x, requests);
        mgds_mx_exchange_check(c, &x, round);
    }
    if (made) {
        MGDS_MX(c, MPI_Request_free(&requests[0]));
        MGDS_MX(c, MPI_Request_free(&requests[1]));
    }
    mgds_mx_exchange_fini(&x);
}

/* arg: send style, room beyond the message in messages. */
const struct mgds_mx_call mgds_mx_persistent_calls[] = {
    {"Send_init", persistent, {SEND, 0, 0}},
    {"Ssend_init", persistent, {SSEND, 0, 0}},
    {"Bsend_init", persistent, {BSEND, 0, 0}},
    {"Rsend_init", persistent, {RSEND, 0, 0}},
    {"Send_init_c", persistent, {SEND_C, 0, 0}},
    {"Recv_init_short", persistent, {SEND, 1, 0}},
    {"Psend_init", partitioned, {0, 0, 0}},
    {NULL, NULL, {0}},
};
