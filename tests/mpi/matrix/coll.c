/*
 * Collectives that move data. A block is what one rank has for another; a
 * buffer holds one block or one for each rank, those with counts of their own
 * in reverse order with an unused element between them.
 */
#include "tests/mpi/matrix/case.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/matrix/issue.h"

#define RANKS_MAX 8

enum call {
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    GATHERV,
    SCATTERV,
    ALLGATHERV,
    ALLTOALLV,
    ALLTOALLW,
};

/* What a buffer holds, and where it is significant. */
enum side { NONE, ONE, MANY, ROOT_MANY };

static const struct {
    enum side send;
    enum side recv;
    int varies;
} shapes[] = {
    [BCAST] = {NONE, ONE, 0},         [GATHER] = {ONE, ROOT_MANY, 0},
    [SCATTER] = {ROOT_MANY, ONE, 0},  [ALLGATHER] = {ONE, MANY, 0},
    [ALLTOALL] = {MANY, MANY, 0},     [GATHERV] = {ONE, ROOT_MANY, 1},
    [SCATTERV] = {ROOT_MANY, ONE, 1}, [ALLGATHERV] = {ONE, MANY, 1},
    [ALLTOALLV] = {MANY, MANY, 1},    [ALLTOALLW] = {MANY, MANY, 1},
};

/* Counts and displacements of one buffer, for both widths of integers. */
struct places {
    int count[RANKS_MAX];
    int at[RANKS_MAX];
    MPI_Count count_c[RANKS_MAX];
    MPI_Aint at_c[RANKS_MAX];
};

struct coll {
    struct mgds_mx_case *c;
    enum call call;
    enum mgds_mx_how how;
    int in_place;
    int root;
    struct mgds_mx_type type;
    size_t base; /* elements of a block */
    struct mgds_mx_buffer send;
    struct mgds_mx_buffer recv;
    struct places sends;
    struct places recvs;
    MPI_Datatype types[RANKS_MAX];
    unsigned char *packed;
};

static int significant(const struct coll *k, enum side side)
{
    return side == ONE || side == MANY ||
           (side == ROOT_MANY && k->c->rank == k->root);
}

static size_t block_count(const struct coll *k, int from, int to)
{
    if (shapes[k->call].varies && k->base > 0)
        return k->base + (size_t)((from + to) % 2);
    return k->base;
}

static size_t block_at(const struct coll *k, int i)
{
    if (shapes[k->call].varies)
        return (size_t)(k->c->ranks - 1 - i) * (k->base + 2);
    return (size_t)i * k->base;
}

/* To whom the one block of a sender goes: to all it is said to go to 0. */
static int target(const struct coll *k)
{
    return k->call == ALLGATHER || k->call == ALLGATHERV ? 0 : k->root;
}

/* The rank for whom blocks of the receive buffer are. */
static int receiver(const struct coll *k)
{
    return shapes[k->call].send == ONE ? target(k) : k->c->rank;
}

static void place_set(const struct coll *k, struct places *p, int i,
                      size_t count)
{
    size_t unit = k->call == ALLTOALLW ? (size_t)k->type.extent : 1;

    p->count[i] = (int)count;
    p->count_c[i] = (MPI_Count)count;
    p->at[i] = (int)(block_at(k, i) * unit);
    p->at_c[i] = (MPI_Aint)(block_at(k, i) * unit);
}

static void places_fill(struct coll *k)
{
    int me = k->c->rank;

    for (int i = 0; i < k->c->ranks; i++) {
        place_set(k, &k->sends, i, block_count(k, me, i));
        place_set(k, &k->recvs, i, block_count(k, i, receiver(k)));
        k->types[i] = k->type.mpi;
    }
}

static void block_place(struct coll *k, struct mgds_mx_buffer *b, size_t at,
                        int from, int to, int round)
{
    size_t bytes = block_count(k, from, to) * k->type.data;

    mgds_mx_stream(k->c, from, to, round, k->packed, bytes);
    mgds_mx_buffer_place(b, at, k->packed, bytes);
}

static void send_fill(struct coll *k, struct mgds_mx_buffer *b, int round)
{
    enum side side = shapes[k->call].send;
    int me = k->c->rank;

    if (side == ONE)
        block_place(k, b, 0, me, target(k), round);
    for (int i = 0; side != ONE && i < k->c->ranks; i++)
        block_place(k, b, block_at(k, i), me, i, round);
}

/* What is in the receive buffer before: of calls in place, what is sent. */
static void recv_fill(struct coll *k, int round)
{
    int me = k->c->rank;

    if (k->call == BCAST && me == k->root)
        block_place(k, &k->recv, 0, me, 0, round);
    if (!k->in_place || k->call == BCAST || shapes[k->call].recv == ONE)
        return;
    if (shapes[k->call].send == MANY)
        send_fill(k, &k->recv, round);
    else
        block_place(k, &k->recv, block_at(k, me), me, target(k), round);
}

static void fill(void *call, int round)
{
    struct coll *k = call;

    mgds_mx_buffer_poison(&k->send);
    if (significant(k, shapes[k->call].send))
        send_fill(k, &k->send, round);
    mgds_mx_buffer_upload(&k->send);
    mgds_mx_buffer_poison(&k->recv);
    recv_fill(k, round);
    mgds_mx_buffer_upload(&k->recv);
}

static void recv_expect(struct coll *k, int round)
{
    int me = k->c->rank;

    if (k->call == BCAST)
        block_place(k, &k->recv, 0, k->root, 0, round);
    else if (shapes[k->call].recv != ONE)
        for (int i = 0; i < k->c->ranks; i++)
            block_place(k, &k->recv, block_at(k, i), i, receiver(k), round);
    else if (!(k->in_place && me == k->root))
        block_place(k, &k->recv, 0, k->root, me, round);
}

static void check(void *call, int round)
{
    struct coll *k = call;

    if (significant(k, shapes[k->call].recv))
        recv_expect(k, round);
    mgds_mx_expect(k->c, &k->recv);
    mgds_mx_expect(k->c, &k->send);
}

/* What MPI is given as send and as receive buffer. */
static const void *send_of(const struct coll *k)
{
    int root_only = shapes[k->call].recv == ROOT_MANY;

    if (k->in_place && shapes[k->call].recv != ONE &&
        (!root_only || k->c->rank == k->root))
        return MPI_IN_PLACE;
    return k->send.user;
}

static void *recv_of(const struct coll *k)
{
    if (k->in_place && shapes[k->call].send == ROOT_MANY &&
        k->c->rank == k->root)
        return MPI_IN_PLACE;
    return k->recv.user;
}

static int issue_regular(struct coll *k, MPI_Request *request)
{
    const void *s = send_of(k);
    void *r = recv_of(k);
    int n = (int)k->base;
    MPI_Datatype t = k->type.mpi;
    MPI_Comm comm = k->c->comm;
    int root = k->root;

    switch (k->call) {
    case BCAST:
        return MGDS_MX_ISSUE(k->how, Bcast, bcast, r, n, t, root, comm);
    case GATHER:
        return MGDS_MX_ISSUE(k->how, Gather, gather, s, n, t, r, n, t, root,
                             comm);
    case SCATTER:
        return MGDS_MX_ISSUE(k->how, Scatter, scatter, s, n, t, r, n, t, root,
                             comm);
    case ALLGATHER:
        return MGDS_MX_ISSUE(k->how, Allgather, allgather, s, n, t, r, n, t,
                             comm);
    default:
        return MGDS_MX_ISSUE(k->how, Alltoall, alltoall, s, n, t, r, n, t,
                             comm);
    }
}

static int issue_varying(struct coll *k, MPI_Request *request)
{
    const void *s = send_of(k);
    void *r = recv_of(k);
    const struct places *out = &k->sends;
    const struct places *in = &k->recvs;
    MPI_Datatype t = k->type.mpi;
    MPI_Comm comm = k->c->comm;
    int mine = out->count[target(k)];

    switch (k->call) {
    case GATHERV:
        return MGDS_MX_ISSUE(k->how, Gatherv, gatherv, s, mine, t, r, in->count,
                             in->at, t, k->root, comm);
    case SCATTERV:
        return MGDS_MX_ISSUE(k->how, Scatterv, scatterv, s, out->count, out->at,
                             t, r, in->count[k->root], t, k->root, comm);
    case ALLGATHERV:
        return MGDS_MX_ISSUE(k->how, Allgatherv, allgatherv, s, mine, t, r,
                             in->count, in->at, t, comm);
    case ALLTOALLV:
        return MGDS_MX_ISSUE(k->how, Alltoallv, alltoallv, s, out->count,
                             out->at, t, r, in->count, in->at, t, comm);
    default:
        return MGDS_MX_ISSUE(k->how, Alltoallw, alltoallw, s, out->count,
                             out->at, k->types, r, in->count, in->at, k->types,
                             comm);
    }
}

static int issue_large(struct coll *k)
{
    const void *s = send_of(k);
    void *r = recv_of(k);
    const struct places *out = &k->sends;
    const struct places *in = &k->recvs;
    MPI_Datatype t = k->type.mpi;
    MPI_Count n = (MPI_Count)k->base;
    MPI_Comm comm = k->c->comm;

    switch (k->call) {
    case BCAST:
        return MPI_Bcast_c(r, n, t, k->root, comm);
    case ALLGATHER:
        return MPI_Allgather_c(s, n, t, r, n, t, comm);
    case GATHERV:
        return MPI_Gatherv_c(s, out->count_c[k->root], t, r, in->count_c,
                             in->at_c, t, k->root, comm);
    default:
        return MPI_Alltoallv_c(s, out->count_c, out->at_c, t, r, in->count_c,
                               in->at_c, t, comm);
    }
}

static int issue(void *call, MPI_Request *request)
{
    struct coll *k = call;

    if (k->how == MGDS_MX_LARGE)
        return issue_large(k);
    if (shapes[k->call].varies)
        return issue_varying(k, request);
    return issue_regular(k, request);
}

static size_t room_of(const struct coll *k, enum side side)
{
    size_t most = k->base + 2;

    if (side == MANY || side == ROOT_MANY)
        return (size_t)k->c->ranks * (shapes[k->call].varies ? most : k->base);
    return most;
}

static int coll_init(struct coll *k, struct mgds_mx_case *c)
{
    size_t block = c->bytes / (size_t)c->ranks;
    int odd = c->rank % 2;

    k->c = c;
    k->call = (enum call)c->call->arg[0];
    k->how = (enum mgds_mx_how)c->call->arg[1];
    k->in_place = c->call->arg[2];
    k->root = (int)(c->seed % (uint64_t)c->ranks);
    if (k->call == BCAST) {
        block = c->bytes;
        odd = c->rank == k->root; /* the receive buffer is the only one */
    }
    block = block == 0 && c->bytes > 0 ? 1 : block;
    mgds_mx_type_init(&k->type, c->type_kind, block, &k->base);
    k->packed = mgds_mx_alloc((k->base + 2) * k->type.data);
    places_fill(k);
    if (mgds_mx_buffer_init(&k->send, "send buffer", c->kind[odd], &k->type,
                            room_of(k, shapes[k->call].send)) < 0)
        goto free_packed;
    if (mgds_mx_buffer_init(&k->recv, "receive buffer", c->kind[!odd], &k->type,
                            room_of(k, shapes[k->call].recv)) < 0)
        goto fini_send;
    return 0;
fini_send:
    mgds_mx_buffer_fini(&k->send);
free_packed:
    free(k->packed);
    mgds_mx_type_fini(&k->type);
    mgds_mx_fail(c, "no memory for the buffers");
    return -1;
}

static void coll_fini(struct coll *k)
{
    mgds_mx_buffer_fini(&k->recv);
    mgds_mx_buffer_fini(&k->send);
    free(k->packed);
    mgds_mx_type_fini(&k->type);
}

static void run(struct mgds_mx_case *c)
{
    static const struct mgds_mx_steps steps = {issue, fill, check};
    struct coll k;

    memset(&k, 0, sizeof(k));
    if (coll_init(&k, c) < 0)
        return;
    mgds_mx_steps_run(c, &steps, &k, k.how);
    coll_fini(&k);
}

#define ALL_WAYS(name, call)                                                   \
    {#name, run, {call, MGDS_MX_BLOCKING, 0}},                                 \
        {"I" #name, run, {call, MGDS_MX_NONBLOCKING, 0}},                      \
    {                                                                          \
#name "_init", run,                                                    \
        {                                                                      \
            call, MGDS_MX_PERSISTENT, 0                                        \
        }                                                                      \
    }
#define ALSO_IN_PLACE(name, call)                                              \
    ALL_WAYS(name, call),                                                      \
        {#name "_in_place", run, {call, MGDS_MX_BLOCKING, 1}},                 \
    {                                                                          \
        "I" #name "_in_place", run,                                            \
        {                                                                      \
            call, MGDS_MX_NONBLOCKING, 1                                       \
        }                                                                      \
    }

/* arg: call, how, in place. */
const struct mgds_mx_call mgds_mx_coll_calls[] = {
    ALL_WAYS(bcast, BCAST),
    ALSO_IN_PLACE(gather, GATHER),
    ALSO_IN_PLACE(scatter, SCATTER),
    ALSO_IN_PLACE(allgather, ALLGATHER),
    ALSO_IN_PLACE(alltoall, ALLTOALL),
    ALSO_IN_PLACE(gatherv, GATHERV),
    ALSO_IN_PLACE(scatterv, SCATTERV),
    ALSO_IN_PLACE(allgatherv, ALLGATHERV),
    ALSO_IN_PLACE(alltoallv, ALLTOALLV),
    ALSO_IN_PLACE(alltoallw, ALLTOALLW),
    {"bcast_c", run, {BCAST, MGDS_MX_LARGE, 0}},
    {"allgather_c", run, {ALLGATHER, MGDS_MX_LARGE, 0}},
    {"gatherv_c", run, {GATHERV, MGDS_MX_LARGE, 0}},
    {"alltoallv_c", run, {ALLTOALLV, MGDS_MX_LARGE, 0}},
    {NULL, NULL, {0}},
};
