/*
 * The bodies of collectives: see coll.h. What becomes of the bounces:
 *
 *   blocking     down, call below, up, gone
 *   nonblocking  down, call below; up when that is complete; gone with the
 *                request
 *   persistent   down, call below; each start down, each completion up; gone
 *                with the request
 *
 * An error handler that jumps out of the call below leaves them behind.
 */
#include "shim/pmpi/coll.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/cuda/presence.h"
#include "shim/gds/mem/bounce.h"
#include "shim/pmpi/coll_direct.h"
#include "shim/pmpi/coll_stage.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/own.h"

/* A call with staged buffers. */
struct op {
    struct mgds_coll_staged part[MGDS_COLL_PARTS];
    int parts;
    mgds_word words[MGDS_COLL_WORDS]; /* for the MPI below */
    MPI_Comm comm;
};

static mgds_word forward(unsigned n, const mgds_word *w)
{
    switch (n) {
    case 5:
        return MGDS_FORWARD(5)(w[0], w[1], w[2], w[3], w[4]);
    case 6:
        return MGDS_FORWARD(6)(w[0], w[1], w[2], w[3], w[4], w[5]);
    case 7:
        return MGDS_FORWARD(7)(w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
    case 8:
        return MGDS_FORWARD(8)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
    case 9:
        return MGDS_FORWARD(9)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                               w[8]);
    case 10:
        return MGDS_FORWARD(10)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                                w[8], w[9]);
    default:
        return MGDS_FORWARD(11)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                                w[8], w[9], w[10]);
    }
}

/* MPICH's handles say what they are: bits 26 to 29 are the kind of object,
   the two above say in which table, 0 being none. */
static bool is_comm(mgds_word word)
{
    enum { KIND_COMM = 1 };
    unsigned handle = (unsigned)word;

    return (handle >> 26 & 0xf) == KIND_COMM && handle >> 30 != 0;
}

static void destroy_op(struct op *op)
{
    while (op->parts > 0)
        mgds_coll_unstage(&op->part[--op->parts]);
}

static int wait_parts(struct op *op)
{
    int rc = 0;

    for (int i = 0; rc >= 0 && i < op->parts; i++)
        rc = mgds_bounce_wait(op->part[i].bounce, NULL);
    return rc < 0 ? rc : 0;
}

static int queue_down(struct op *op)
{
    int rc = 0;

    for (int i = 0; rc >= 0 && i < op->parts; i++) {
        const struct mgds_coll_staged *part = &op->part[i];

        if (part->down.bytes > 0)
            rc = mgds_bounce_down(part->bounce, part->down.first,
                                  part->down.bytes);
    }
    return rc < 0 ? rc : 0;
}

static int copy_down(struct op *op)
{
    int rc = queue_down(op);

    return rc < 0 ? rc : wait_parts(op);
}

static int queue_up(struct op *op)
{
    int rc = 0;

    for (int i = 0; rc >= 0 && i < op->parts; i++) {
        const struct mgds_coll_staged *part = &op->part[i];

        if (part->up.bytes > 0)
            rc = mgds_bounce_up(part->bounce, part->up.first, part->up.bytes);
    }
    return rc < 0 ? rc : 0;
}

/* Stages the parts and has what the MPI below will read in the bounces: the
   number of parts, or an error, after which there is nothing to destroy.
   (Persistent ones too: MPICH 4.0.2 copies a rank's own block when the request
   is made, once and for all.) */
static int create_op(struct op *op, const struct mgds_coll_part *parts,
                     int count, const struct mgds_coll_site *site)
{
    int rc = 0;

    for (int i = 0; rc >= 0 && i < count; i++) {
        rc = mgds_coll_stage(&op->part[op->parts], &parts[i], site, op->words);
        if (rc > 0)
            op->parts++;
    }
    if (rc >= 0)
        rc = copy_down(op);
    if (rc < 0)
        goto destroy;
    return op->parts;
destroy:
    destroy_op(op);
    return rc;
}

static mgds_word run_blocking(struct op *op, unsigned n)
{
    mgds_word result = forward(n, op->words);
    int rc = 0;

    if ((int)result == MPI_SUCCESS) {
        rc = queue_up(op);
        if (rc == 0)
            rc = wait_parts(op);
    }
    destroy_op(op);
    return rc < 0 ? (mgds_word)mgds_mpi_error(op->comm, rc) : result;
}

/* A call with a request. */
struct requested {
    struct mgds_request request; /* first */
    struct op op;
};

static struct op *op_of(struct mgds_request *request)
{
    return &((struct requested *)request)->op;
}

static int start(struct mgds_request *request)
{
    return queue_down(op_of(request));
}

static int land(struct mgds_request *request, MPI_Status *status)
{
    (void)status;
    return queue_up(op_of(request));
}

static int land_if_right(struct mgds_request *request, MPI_Status *status)
{
    return status->MPI_ERROR == MPI_SUCCESS ? queue_up(op_of(request)) : 0;
}

static int poll_parts(struct mgds_request *request)
{
    struct op *op = op_of(request);
    int rc = 1;

    for (int i = 0; rc == 1 && i < op->parts; i++)
        rc = mgds_bounce_poll(op->part[i].bounce);
    return rc;
}

static void release(struct mgds_request *request)
{
    destroy_op(op_of(request));
}

static const struct mgds_request_ops nonblocking_ops = {
    .kind = MGDS_REQUEST_IS_GENERALIZED,
    .landed = land_if_right,
    .poll = poll_parts,
    .release = release,
};

static const struct mgds_request_ops persistent_ops = {
    .kind = MGDS_REQUEST_IS_PERSISTENT,
    .start = start,
    .landed = land,
    .poll = poll_parts,
    .release = release,
};

/* Takes the op over, whatever comes of it; NULL without memory. */
static struct requested *request_of(const struct mgds_request_ops *ops,
                                    struct op *op)
{
    struct requested *requested =
        mgds_request_new(sizeof(*requested), ops, op->comm);

    if (requested)
        requested->op = *op;
    else
        destroy_op(op);
    return requested;
}

static mgds_word run_nonblocking(struct op *op, unsigned n)
{
    MPI_Request *user = (MPI_Request *)op->words[n - 1];
    struct requested *requested = request_of(&nonblocking_ops, op);
    int rc = requested ? mgds_grequest_start(&requested->request) : -ENOMEM;
    mgds_word result;

    if (rc < 0)
        return (mgds_word)mgds_mpi_error(op->comm, rc);
    op->words[n - 1] = (mgds_word)&requested->request.below;
    result = forward(n, op->words);
    if ((int)result == MPI_SUCCESS)
        mgds_grequest_begin(&requested->request, user);
    else
        mgds_grequest_drop(&requested->request);
    return result;
}

static mgds_word run_persistent(struct op *op, unsigned n)
{
    const MPI_Request *user = (const MPI_Request *)op->words[n - 1];
    struct requested *requested = request_of(&persistent_ops, op);

    if (!requested)
        return (mgds_word)mgds_mpi_error(op->comm, -ENOMEM);
    return mgds_request_made(&requested->request, user, forward(n, op->words));
}

static int stage_call(struct op *op, const struct mgds_coll_call *call,
                      const struct mgds_coll_facts *facts)
{
    struct mgds_coll_part parts[MGDS_COLL_PARTS];
    struct mgds_coll_site site = {.call = call, .rank = facts->rank};
    int count = mgds_coll_plan(parts, call->row, facts, op->words);

    return create_op(op, parts, count, &site);
}

mgds_word mgds_coll_run(enum mgds_call id, unsigned n, const mgds_word *words)
{
    const struct mgds_coll_call *call = &mgds_coll_calls[id];
    mgds_word comm = MPI_COMM_NULL; /* Reduce_local */
    struct mgds_coll_facts facts;
    struct op op = {.parts = 0};
    mgds_word result;
    int rc;

    if (call->row->comm != MGDS_COLL_NONE) {
        comm = words[call->row->comm];
        if (!is_comm(comm))
            return forward(n, words);
        if (mgds_coll_direct(&result, call, words))
            return result;
    }
    if (!mgds_presence_cuda())
        return forward(n, words);
    rc = mgds_coll_ask(&facts, call->row, comm);
    if (rc != MPI_SUCCESS)
        return (mgds_word)rc;
    op.comm = (MPI_Comm)comm;
    memcpy(op.words, words, n * sizeof(*words));
    rc = stage_call(&op, call, &facts);
    if (rc < 0)
        return (mgds_word)mgds_mpi_error(op.comm, rc);
    if (rc == 0)
        return forward(n, words);
    switch (call->kind) {
    case MGDS_COLL_NONBLOCKING:
        return run_nonblocking(&op, n);
    case MGDS_COLL_PERSISTENT:
        return run_persistent(&op, n);
    default:
        return run_blocking(&op, n);
    }
}

#define BODY_COLL_PASS(name, n)
#define BODY_COLL_GPU(name, n)                                                 \
    mgds_word mgds_own_##name(MGDS_PARAMS_##n)                                 \
    {                                                                          \
        const mgds_word words[] = {MGDS_ARGS_##n};                             \
                                                                               \
        return mgds_coll_run(MGDS_CALL_##name, n, words);                      \
    }
#define BODY_INIT(name, n, mode)
#define BODY_P2P(name, n, mode)
#define BODY_PROBE(name, n, mode)
#define BODY_PART(name, n, mode)
#define BODY_COMPLETION(name, n, mode)
#define BODY_RMA(name, n, mode)
#define BODY_WIN(name, n, mode)
#define BODY_COMM(name, n, mode)
#define BODY_ERROR(name, n, mode)
#define BODY_COLL(name, n, mode) BODY_COLL_##mode(name, n)
#define MGDS_CALL(name, n, family, mode) BODY_##family(name, n, mode)
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
