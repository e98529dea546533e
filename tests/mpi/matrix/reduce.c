/*
 * Reductions: contiguous data by MPI_BXOR, pairs by MPI_MAXLOC, the other
 * datatypes by an operation of the program's own, an exclusive or of their
 * data bytes.
 */
#include "tests/mpi/matrix/case.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/matrix/issue.h"

#define RANKS_MAX 8

enum call {
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN
};

struct red {
    struct mgds_mx_case *c;
    enum call call;
    enum mgds_mx_how how;
    int in_place;
    int root;
    MPI_Op op;
    struct mgds_mx_type type;
    size_t base; /* elements of a rank's result */
    size_t all;  /* elements of a rank's contribution */
    int counts[RANKS_MAX];
    struct mgds_mx_buffer send;
    struct mgds_mx_buffer recv;
    unsigned char *packed[2];
};

/* For the user's operation, which gets no pointer of ours. */
static const struct mgds_mx_type *op_type;

static void xor_user(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int e = 0; e < *length; e++) {
        for (int s = 0; s < op_type->spans; s++) {
            ptrdiff_t at = e * op_type->extent + op_type->span[s].offset;
            const unsigned char *from = (const unsigned char *)in + at;
            unsigned char *to = (unsigned char *)inout + at;

            for (size_t i = 0; i < op_type->span[s].bytes; i++)
                to[i] ^= from[i];
        }
    }
}

/* One packed pair of short and int into another, as MPI_MAXLOC says. */
static void pair_fold(unsigned char *into, const unsigned char *from)
{
    short value[2];
    int place[2];

    memcpy(&value[0], into, sizeof(short));
    memcpy(&value[1], from, sizeof(short));
    memcpy(&place[0], into + sizeof(short), sizeof(int));
    memcpy(&place[1], from + sizeof(short), sizeof(int));
    if (value[1] > value[0] || (value[1] == value[0] && place[1] < place[0]))
        memcpy(into, from, sizeof(short) + sizeof(int));
}

static void fold(const struct red *k, unsigned char *into,
                 const unsigned char *from, size_t bytes)
{
    if (k->type.kind == MGDS_MX_PAIR) {
        for (size_t i = 0; i < bytes; i += k->type.data)
            pair_fold(into + i, from + i);
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        into[i] ^= from[i];
}

/* The fold over the contributions of ranks first to last, in packed[0]. */
static void result_make(struct red *k, int first, int last, int round)
{
    size_t bytes = k->all * k->type.data;

    mgds_mx_stream(k->c, first, 0, round, k->packed[0], bytes);
    for (int i = first + 1; i <= last; i++) {
        mgds_mx_stream(k->c, i, 0, round, k->packed[1], bytes);
        fold(k, k->packed[0], k->packed[1], bytes);
    }
}

static void fill(void *call, int round)
{
    struct red *k = call;
    size_t bytes = k->all * k->type.data;

    mgds_mx_stream(k->c, k->c->rank, 0, round, k->packed[0], bytes);
    mgds_mx_buffer_poison(&k->send);
    mgds_mx_buffer_place(&k->send, 0, k->packed[0], bytes);
    mgds_mx_buffer_upload(&k->send);
    mgds_mx_buffer_poison(&k->recv);
    if (k->in_place)
        mgds_mx_buffer_place(&k->recv, 0, k->packed[0], bytes);
    mgds_mx_buffer_upload(&k->recv);
}

/* Of a scattered result, where this rank's part starts. */
static size_t part_start(const struct red *k)
{
    size_t start = 0;

    for (int i = 0; i < k->c->rank; i++)
        start += (size_t)k->counts[i];
    return start;
}

static int scattered(const struct red *k)
{
    return k->call == REDUCE_SCATTER || k->call == REDUCE_SCATTER_BLOCK;
}

static void recv_expect(struct red *k, int round)
{
    int me = k->c->rank;
    int last = k->c->ranks - 1;
    size_t start = 0;
    size_t count = k->all;

    if (k->call == SCAN || k->call == EXSCAN)
        last = k->call == SCAN ? me : me - 1;
    if (scattered(k)) {
        start = part_start(k);
        count = (size_t)k->counts[me];
    }
    /* MPI leaves the rest of a buffer in place open, and Exscan's first. */
    if (last < 0 || (scattered(k) && k->in_place))
        mgds_mx_buffer_forgive(&k->recv, 0, k->all);
    if (last < 0)
        return;
    result_make(k, 0, last, round);
    mgds_mx_buffer_place(&k->recv, 0, k->packed[0] + start * k->type.data,
                         count * k->type.data);
}

static void check(void *call, int round)
{
    struct red *k = call;

    if (k->call != REDUCE || k->c->rank == k->root)
        recv_expect(k, round);
    mgds_mx_expect(k->c, &k->recv);
    mgds_mx_expect(k->c, &k->send);
}

static const void *send_of(const struct red *k)
{
    if (k->in_place && (k->call != REDUCE || k->c->rank == k->root))
        return MPI_IN_PLACE;
    return k->send.user;
}

static int issue(void *call, MPI_Request *request)
{
    struct red *k = call;
    const void *s = send_of(k);
    void *r = k->recv.user;
    int n = (int)k->all;
    MPI_Datatype t = k->type.mpi;
    MPI_Op op = k->op;
    MPI_Comm comm = k->c->comm;

    switch (k->call) {
    case REDUCE:
        return MGDS_MX_ISSUE(k->how, Reduce, reduce, s, r, n, t, op, k->root,
                             comm);
    case ALLREDUCE:
        if (k->how == MGDS_MX_LARGE)
            return MPI_Allreduce_c(s, r, n, t, op, comm);
        return MGDS_MX_ISSUE(k->how, Allreduce, allreduce, s, r, n, t, op,
                             comm);
    case REDUCE_SCATTER:
        return MGDS_MX_ISSUE(k->how, Reduce_scatter, reduce_scatter, s, r,
                             k->counts, t, op, comm);
    case REDUCE_SCATTER_BLOCK:
        return MGDS_MX_ISSUE(k->how, Reduce_scatter_block, reduce_scatter_block,
                             s, r, (int)k->base, t, op, comm);
    case SCAN:
        return MGDS_MX_ISSUE(k->how, Scan, scan, s, r, n, t, op, comm);
    default:
        return MGDS_MX_ISSUE(k->how, Exscan, exscan, s, r, n, t, op, comm);
    }
}

static void op_choose(struct red *k)
{
    op_type = &k->type;
    if (k->c->type_kind == MGDS_MX_CONTIGUOUS)
        k->op = MPI_BXOR;
    else if (k->c->type_kind == MGDS_MX_PAIR)
        k->op = MPI_MAXLOC;
    else
        MPI_Op_create(xor_user, 1, &k->op);
}

static void sizes_choose(struct red *k)
{
    size_t ranks = scattered(k) ? (size_t)k->c->ranks : 1;
    size_t block = k->c->bytes / ranks;

    block = block == 0 && k->c->bytes > 0 ? 1 : block;
    if (k->c->type_kind == MGDS_MX_CONTIGUOUS)
        mgds_mx_type_bytes(&k->type, block, &k->base);
    else
        mgds_mx_type_init(&k->type, k->c->type_kind, block, &k->base);
    k->all = k->base * ranks;
    for (int i = 0; i < k->c->ranks; i++)
        k->counts[i] = (int)k->base;
    /* rank 0 gives one element to the last rank */
    if (k->call == REDUCE_SCATTER && k->base > 0) {
        k->counts[0]--;
        k->counts[k->c->ranks - 1]++;
    }
}

static int red_init(struct red *k, struct mgds_mx_case *c)
{
    int odd = c->rank % 2;

    k->c = c;
    k->call = (enum call)c->call->arg[0];
    k->how = (enum mgds_mx_how)c->call->arg[1];
    k->in_place = c->call->arg[2];
    k->root = (int)(c->seed % (uint64_t)c->ranks);
    sizes_choose(k);
    op_choose(k);
    for (int i = 0; i < 2; i++)
        k->packed[i] = mgds_mx_alloc(k->all * k->type.data);
    if (mgds_mx_buffer_init(&k->send, "send buffer", c->kind[odd], &k->type,
                            k->all + 1) < 0)
        goto free_packed;
    if (mgds_mx_buffer_init(&k->recv, "receive buffer", c->kind[!odd], &k->type,
                            k->all + 1) < 0)
        goto fini_send;
    return 0;
fini_send:
    mgds_mx_buffer_fini(&k->send);
free_packed:
    free(k->packed[0]);
    free(k->packed[1]);
    mgds_mx_fail(c, "no memory for the buffers");
    return -1;
}

static void red_fini(struct red *k)
{
    mgds_mx_buffer_fini(&k->recv);
    mgds_mx_buffer_fini(&k->send);
    free(k->packed[0]);
    free(k->packed[1]);
}

static void types_fini(struct red *k)
{
    if (k->op != MPI_BXOR && k->op != MPI_MAXLOC)
        MPI_Op_free(&k->op);
    mgds_mx_type_fini(&k->type);
}

static void run(struct mgds_mx_case *c)
{
    static const struct mgds_mx_steps steps = {issue, fill, check};
    struct red k;

    memset(&k, 0, sizeof(k));
    if (red_init(&k, c) == 0) {
        mgds_mx_steps_run(c, &steps, &k, k.how);
        red_fini(&k);
    }
    types_fini(&k);
}

#define ALL_WAYS(name, call)                                                   \
    {#name, run, {call, MGDS_MX_BLOCKING, 0}},                                 \
        {"I" #name, run, {call, MGDS_MX_NONBLOCKING, 0}},                      \
        {#name "_init", run, {call, MGDS_MX_PERSISTENT, 0}},                   \
        {#name "_in_place", run, {call, MGDS_MX_BLOCKING, 1}},                 \
    {                                                                          \
        "I" #name "_in_place", run,                                            \
        {                                                                      \
            call, MGDS_MX_NONBLOCKING, 1                                       \
        }                                                                      \
    }

/* arg: call, how, in place. */
const struct mgds_mx_call mgds_mx_reduce_calls[] = {
    ALL_WAYS(reduce, REDUCE),
    ALL_WAYS(allreduce, ALLREDUCE),
    ALL_WAYS(reduce_scatter, REDUCE_SCATTER),
    ALL_WAYS(reduce_scatter_block, REDUCE_SCATTER_BLOCK),
    ALL_WAYS(scan, SCAN),
    ALL_WAYS(exscan, EXSCAN),
    {"allreduce_c", run, {ALLREDUCE, MGDS_MX_LARGE, 0}},
    {NULL, NULL, {0}},
};
