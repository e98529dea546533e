/* Calls with both ends in one, and messages that do not come as sent. */
#include "tests/mpi/matrix/exchange.h"

static void sendrecv(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Status status = {.MPI_SOURCE = -100};
    int n;

    if (mgds_mx_exchange_init(&x, c, c->call->arg[0]) < 0)
        return;
    n = (int)x.count;
    MGDS_MX(c, MPI_Sendrecv(x.send.user, n, x.type.mpi, x.to, MGDS_MX_TAG,
                            x.recv.user, (int)x.room, x.type.mpi, x.from,
                            MGDS_MX_TAG, c->comm, &status));
    mgds_mx_exchange_status(c, &x, &status);
    mgds_mx_exchange_check(c, &x, 0);
    mgds_mx_exchange_fini(&x);
}

/* The buffer is of the first kind on even ranks, of the second on odd ones. */
static void replace(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    struct mgds_mx_buffer *b;
    MPI_Status status = {.MPI_SOURCE = -100};

    if (mgds_mx_exchange_init(&x, c, 0) < 0)
        return;
    b = c->rank % 2 == 0 ? &x.send : &x.recv;
    mgds_mx_stream(c, c->rank, x.to, 0, x.packed, x.count * x.type.data);
    mgds_mx_buffer_place(b, 0, x.packed, x.count * x.type.data);
    mgds_mx_buffer_upload(b);
    MGDS_MX(c, MPI_Sendrecv_replace(b->user, (int)x.count, x.type.mpi, x.to,
                                    MGDS_MX_TAG, x.from, MGDS_MX_TAG, c->comm,
                                    &status));
    mgds_mx_exchange_status(c, &x, &status);
    mgds_mx_stream(c, x.from, c->rank, 0, x.packed, x.count * x.type.data);
    mgds_mx_buffer_place(b, 0, x.packed, x.count * x.type.data);
    mgds_mx_expect(c, b);
    mgds_mx_exchange_fini(&x);
}

static void class_expect(struct mgds_mx_case *c, int rc, int expected)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    if (class != expected)
        mgds_mx_fail(c, "error class %d, not %d", class, expected);
}

/* MPICH asks MPI_COMM_WORLD's handler for errors of requests whose own
   communicator it has let go of. */
static void errors_return(int yes)
{
    MPI_Errhandler handler = yes ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

/* Room for half of the message: an error, and nothing behind the room. */
static void truncated(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Request coming = MPI_REQUEST_NULL;
    MPI_Request sent;
    int blocking = c->call->arg[0];
    int rc = MPI_SUCCESS;

    if (mgds_mx_exchange_init(&x, c, 0) < 0)
        return;
    x.room = x.count / 2;
    errors_return(1);
    if (!blocking)
        MGDS_MX(c, MPI_Irecv(x.recv.user, (int)x.room, x.type.mpi, x.from,
                             MGDS_MX_TAG, c->comm, &coming));
    MGDS_MX(c, MPI_Isend(x.send.user, (int)x.count, x.type.mpi, x.to,
                         MGDS_MX_TAG, c->comm, &sent));
    if (blocking)
        rc = MPI_Recv(x.recv.user, (int)x.room, x.type.mpi, x.from, MGDS_MX_TAG,
                      c->comm, MPI_STATUS_IGNORE);
    else
        rc = MPI_Wait(&coming, MPI_STATUS_IGNORE);
    errors_return(0);
    class_expect(c, rc, x.count > 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    mgds_mx_buffer_forgive(&x.recv, 0, x.room);
    mgds_mx_expect(c, &x.recv);
    mgds_mx_expect(c, &x.send);
    mgds_mx_exchange_fini(&x);
}

/* A receive that nothing matches is cancelled: its buffer stays as it was. */
static void cancelled(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    if (mgds_mx_exchange_init(&x, c, 0) < 0)
        return;
    MGDS_MX(c, MPI_Irecv(x.recv.user, (int)x.count, x.type.mpi, x.from,
                         MGDS_MX_TAG + 1, c->comm, &request));
    MGDS_MX(c, MPI_Cancel(&request));
    MGDS_MX(c, MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &flag);
    if (!flag)
        mgds_mx_fail(c, "the status of a cancelled receive does not say so");
    mgds_mx_expect(c, &x.recv);
    mgds_mx_exchange_fini(&x);
}

static void null_status(struct mgds_mx_case *c, MPI_Status *status)
{
    int count = -1;

    MPI_Get_count(status, MPI_BYTE, &count);
    if (status->MPI_SOURCE != MPI_PROC_NULL || status->MPI_TAG != MPI_ANY_TAG ||
        count != 0)
        mgds_mx_fail(c, "status of MPI_PROC_NULL: source %d, tag %d, count %d",
                     status->MPI_SOURCE, status->MPI_TAG, count);
}

/* MPICH 4.0.2 leaves source and tag of such a request at 0. */
static void empty_status(struct mgds_mx_case *c, MPI_Status *status)
{
    int count = -1;

    MPI_Get_count(status, MPI_BYTE, &count);
    if (count != 0)
        mgds_mx_fail(c, "status of MPI_PROC_NULL: count %d", count);
}

static void to_nobody(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int n;

    if (mgds_mx_exchange_init(&x, c, 0) < 0)
        return;
    n = (int)x.count;
    MGDS_MX(c, MPI_Send(x.send.user, n, x.type.mpi, MPI_PROC_NULL, MGDS_MX_TAG,
                        c->comm));
    MGDS_MX(c, MPI_Recv(x.recv.user, n, x.type.mpi, MPI_PROC_NULL, MGDS_MX_TAG,
                        c->comm, &statuses[0]));
    null_status(c, &statuses[0]);
    MGDS_MX(c, MPI_Irecv(x.recv.user, n, x.type.mpi, MPI_PROC_NULL, MGDS_MX_TAG,
                         c->comm, &requests[0]));
    MGDS_MX(c, MPI_Isend(x.send.user, n, x.type.mpi, MPI_PROC_NULL, MGDS_MX_TAG,
                         c->comm, &requests[1]));
    MGDS_MX(c, MPI_Wait(&requests[0], &statuses[0]));
    empty_status(c, &statuses[0]);
    MGDS_MX(c, MPI_Wait(&requests[1], &statuses[1]));
    mgds_mx_expect(c, &x.recv);
    mgds_mx_expect(c, &x.send);
    mgds_mx_exchange_fini(&x);
}

/* A send whose request is freed at once; the answer says that it is over. */
static void freed(struct mgds_mx_case *c)
{
    struct mgds_mx_exchange x;
    MPI_Request request;
    int tokens[2] = {0, 0};

    if (mgds_mx_exchange_init(&x, c, 0) < 0)
        return;
    MGDS_MX(c, MPI_Isend(x.send.user, (int)x.count, x.type.mpi, x.to,
                         MGDS_MX_TAG, c->comm, &request));
    MGDS_MX(c, MPI_Request_free(&request));
    MGDS_MX(c, MPI_Recv(x.recv.user, (int)x.count, x.type.mpi, x.from,
                        MGDS_MX_TAG, c->comm, MPI_STATUS_IGNORE));
    MGDS_MX(c, MPI_Sendrecv(&tokens[0], 1, MPI_INT, x.from, 0, &tokens[1], 1,
                            MPI_INT, x.to, 0, c->comm, MPI_STATUS_IGNORE));
    mgds_mx_exchange_check(c, &x, 0);
    mgds_mx_exchange_fini(&x);
}

const struct mgds_mx_call mgds_mx_edge_calls[] = {
    {"Sendrecv", sendrecv, {0}},
    {"Sendrecv_short", sendrecv, {1, 0, 0}},
    {"Sendrecv_replace", replace, {0}},
    {"Recv_truncated", truncated, {1, 0, 0}},
    {"Irecv_truncated", truncated, {0}},
    {"Irecv_cancelled", cancelled, {0}},
    {"Proc_null", to_nobody, {0}},
    {"Isend_freed", freed, {0}},
    {NULL, NULL, {0}},
};
