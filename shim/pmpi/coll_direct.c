/* Collectives as messages; see coll_direct.h. */
#include "shim/pmpi/coll_direct.h"

#include <errno.h>
#include <mpi.h>

#include "shim/base/alloc.h"
#include "shim/base/stats.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/coll_agree.h"
#include "shim/pmpi/coll_block.h"
#include "shim/pmpi/coll_own.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/inner.h"

enum pattern {
    NO_PATTERN,
    EXCHANGE,
    GATHER_ALL,
    TO_ROOT,
    FROM_ROOT,
    SPREAD,
    NEIGHBORS
};

/* What a member has to send or to receive. */
struct message {
    struct mgds_inner_buffer buffer;
    int peer;
    bool sends;
};

/* A call. */
struct run {
    const struct mgds_coll_call *call;
    const mgds_word *words;
    enum pattern pattern;
    MPI_Comm comm;
    struct mgds_coll_agreed *agreed;
    struct mgds_coll_facts facts;
    int root; /* where there is one */
    /* Of each message, in one allocation that begins with the messages. */
    struct message *message;
    MPI_Status *status;
    MPI_Request *request;
    int count;
    /* The own block. */
    struct mgds_inner_buffer given, taken;
    bool gives, takes;
};

static enum pattern pattern_of(const struct mgds_coll_call *call)
{
    const struct mgds_coll_row *row = call->row;
    bool rooted;

    if (call->kind != MGDS_COLL_BLOCKING || row->reduces ||
        row->comm == MGDS_COLL_NONE)
        return NO_PATTERN;
    rooted = row->root != MGDS_COLL_NONE;
    if (row->recv.many == MGDS_COLL_IN)
        return NEIGHBORS;
    if (row->recv.many == MGDS_COLL_ONE)
        return row->send.many == MGDS_COLL_ONE ? SPREAD : FROM_ROOT;
    if (row->send.many == MGDS_COLL_ONE)
        return rooted ? TO_ROOT : GATHER_ALL;
    return EXCHANGE;
}

bool mgds_coll_may_be_direct(enum mgds_call call)
{
    return mgds_direct_collectives() > 0 &&
           pattern_of(&mgds_coll_calls[call]) != NO_PATTERN;
}

static bool in_place(const struct run *run, const struct mgds_coll_side *side)
{
    return (const void *)run->words[side->addr] == MPI_IN_PLACE;
}

/* Which blocks there are. */

static struct mgds_inner_buffer buffer_of(const struct run *run,
                                          const struct mgds_coll_side *side,
                                          const struct mgds_coll_block *block)
{
    return (struct mgds_inner_buffer){.addr = (char *)run->words[side->addr] +
                                              block->offset,
                                      .count = block->count,
                                      .type = block->type};
}

/* Its bytes; negative errno: of mgds_coll_block. */
static MPI_Count find_block(struct mgds_coll_block *out, const struct run *run,
                            const struct mgds_coll_side *side, int index)
{
    int rc = mgds_coll_block(out, side, run->call, run->words, index);

    return rc < 0 ? rc : mgds_coll_block_bytes(out);
}

/* The largest block of a part, or negative errno. *gpu: some lies in GPU
 * memory; one buffer is one allocation. */
static MPI_Count look_at_part(bool *gpu, const struct run *run,
                              const struct mgds_coll_part *part)
{
    MPI_Count most = 0;

    for (int i = 0; i < part->many; i++) {
        struct mgds_coll_block block;
        MPI_Count bytes = find_block(&block, run, &part->side, i);

        if (bytes < 0)
            return bytes;
        if (bytes > most && most == 0)
            *gpu |= mgds_buffer_is_gpu(
                (const char *)run->words[part->side.addr] + block.offset,
                block.count, block.type);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The largest block that means something on this rank, or negative errno. */
static MPI_Count look(bool *gpu, const struct run *run)
{
    struct mgds_coll_part parts[MGDS_COLL_PARTS];
    int count = mgds_coll_plan(parts, run->call->row, &run->facts, run->words);
    MPI_Count most = 0;

    *gpu = false;
    for (int i = 0; i < count; i++) {
        MPI_Count bytes = look_at_part(gpu, run, &parts[i]);

        if (bytes < 0)
            return bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The side whose count and type mean something on this rank, whatever it is:
 * that of the blocks that come from a rank, or go to it. */
static const struct mgds_coll_side *significant(const struct run *run)
{
    const struct mgds_coll_row *row = run->call->row;

    if (run->pattern == FROM_ROOT)
        return in_place(run, &row->recv) ? &row->send : &row->recv;
    return in_place(run, &row->send) ? &row->recv : &row->send;
}

/* Where blocks have one length all members know whether it is enough. */
static bool is_short(const struct run *run)
{
    const struct mgds_coll_row *row = run->call->row;
    struct mgds_coll_block block;

    if (run->pattern == NEIGHBORS || row->send.shape != MGDS_COLL_BLOCKS ||
        row->recv.shape != MGDS_COLL_BLOCKS)
        return false;
    return find_block(&block, run, significant(run), 0) <
           (MPI_Count)mgds_direct_collectives();
}

/* Messages. */

/* An empty block, and one to or from nobody, is no message at either end. */
static int add(struct run *run, const struct mgds_coll_side *side, int index,
               int peer, bool sends)
{
    struct mgds_coll_block block;
    MPI_Count bytes = find_block(&block, run, side, index);

    if (bytes <= 0 || peer == MPI_PROC_NULL)
        return bytes < 0 ? (int)bytes : 0;
    if (peer != run->facts.rank || run->pattern == NEIGHBORS) {
        run->message[run->count++] =
            (struct message){buffer_of(run, side, &block), peer, sends};
    } else if (sends) {
        run->given = buffer_of(run, side, &block);
        run->gives = true;
    } else {
        run->taken = buffer_of(run, side, &block);
        run->takes = true;
    }
    return 0;
}

/* Each member begins with the next one, so that not all begin with the same. */
static int member(const struct run *run, int step)
{
    int size = run->facts.size;

    return ((run->facts.rank + step) % size + size) % size;
}

static int add_receives(struct run *run)
{
    const struct mgds_coll_side *side = &run->call->row->recv;
    int rc = 0;

    for (int i = 0; rc == 0 && i < run->facts.size; i++)
        rc = add(run, side, member(run, -i), member(run, -i), false);
    return rc;
}

/* Block 0 to all, or to each its own. */
static int add_sends(struct run *run, const struct mgds_coll_side *side,
                     bool same)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < run->facts.size; i++)
        rc = add(run, side, same ? 0 : member(run, i), member(run, i), true);
    return rc;
}

static int add_all_gather(struct run *run)
{
    const struct mgds_coll_row *row = run->call->row;
    int rc = add_receives(run);

    if (!in_place(run, &row->send))
        return rc < 0 ? rc : add_sends(run, &row->send, true);
    for (int i = 1; rc == 0 && i < run->facts.size; i++)
        rc = add(run, &row->recv, run->facts.rank, member(run, i), true);
    run->takes = false; /* it is there */
    return rc;
}

static int add_to_root(struct run *run)
{
    const struct mgds_coll_row *row = run->call->row;
    bool is_root = run->root == run->facts.rank;
    int rc = is_root ? add_receives(run) : 0;

    if (rc < 0 || (is_root && in_place(run, &row->send))) {
        run->takes = false;
        return rc;
    }
    return add(run, &row->send, 0, run->root, true);
}

static int add_from_root(struct run *run)
{
    const struct mgds_coll_row *row = run->call->row;
    bool is_root = run->root == run->facts.rank;
    int rc = 0;

    if (!is_root || !in_place(run, &row->recv))
        rc = add(run, &row->recv, 0, run->root, false);
    if (rc == 0 && is_root)
        rc = add_sends(run, &row->send, false);
    run->gives = run->gives && run->takes;
    return rc;
}

/* Edges between the same two ranks are told apart by the order of sends and of
 * receives. MPICH begins the receives of one of these collectives with the
 * last: so must we, for the staged one to do the same. */
static int add_to_neighbors(struct run *run)
{
    const int *sources = run->agreed->neighbors;
    const int *dests = sources + run->facts.in;
    const struct mgds_coll_row *row = run->call->row;
    bool same = row->send.many == MGDS_COLL_ONE;
    bool reversed = row->id == MGDS_COLL_ROW_Neighbor_alltoall;
    int in = run->facts.in, rc = 0;

    for (int i = 0; rc == 0 && i < in; i++) {
        int at = reversed ? in - 1 - i : i;

        rc = add(run, &row->recv, at, sources[at], false);
    }
    for (int i = 0; rc == 0 && i < run->facts.out; i++)
        rc = add(run, &row->send, same ? 0 : i, dests[i], true);
    return rc;
}

/* By the number of the rank behind the root: its parent is itself without its
 * lowest bit. */
static int behind_root(const struct run *run)
{
    return member(run, -run->root);
}

static int from_behind_root(const struct run *run, int number)
{
    return (number + run->root) % run->facts.size;
}

static int lowest_bit(const struct run *run)
{
    int number = behind_root(run), bit = 1;

    while (bit < run->facts.size && !(number & bit))
        bit <<= 1;
    return bit;
}

static int add_from_parent(struct run *run)
{
    int number = behind_root(run);

    if (number == 0)
        return 0;
    return add(run, &run->call->row->recv, 0,
               from_behind_root(run, number - lowest_bit(run)), false);
}

/* The largest subtree first. */
static int add_to_children(struct run *run)
{
    int number = behind_root(run);
    int rc = 0;

    for (int bit = lowest_bit(run) >> 1; rc == 0 && bit > 0; bit >>= 1)
        if (number + bit < run->facts.size)
            rc = add(run, &run->call->row->send, 0,
                     from_behind_root(run, number + bit), true);
    return rc;
}

static int add_messages(struct run *run)
{
    int rc;

    switch (run->pattern) {
    case EXCHANGE:
        rc = add_receives(run);
        return rc < 0 ? rc : add_sends(run, &run->call->row->send, false);
    case GATHER_ALL:
        return add_all_gather(run);
    case TO_ROOT:
        return add_to_root(run);
    case FROM_ROOT:
        return add_from_root(run);
    case SPREAD:
        return add_from_parent(run);
    default:
        return add_to_neighbors(run);
    }
}

/* Running. */

static int allocate(struct run *run)
{
    size_t n = 2 * (size_t)run->facts.size + (size_t)run->facts.in +
               (size_t)run->facts.out;
    char *memory =
        (char *)mgds_calloc(n, sizeof(*run->message) + sizeof(*run->status) +
                                   sizeof(*run->request));

    if (!memory)
        return -ENOMEM;
    run->message = (struct message *)(void *)memory;
    run->status = (MPI_Status *)(void *)(run->message + n);
    run->request = (MPI_Request *)(void *)(run->status + n);
    return 0;
}

static int begin_message(struct run *run, int i)
{
    const struct message *message = &run->message[i];
    const struct mgds_coll_agreed *agreed = run->agreed;

    return message->sends
               ? mgds_inner_isend(&message->buffer, message->peer, agreed->tag,
                                  agreed->own, &run->request[i])
               : mgds_inner_irecv(&message->buffer, message->peer, agreed->tag,
                                  agreed->own, &run->request[i]);
}

/* MPI's code. */
static int pass_messages(struct run *run)
{
    int rc = MPI_SUCCESS, begun = 0;

    while (rc == MPI_SUCCESS && begun < run->count) {
        rc = begin_message(run, begun);
        begun += rc == MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS && begun > 0)
        rc = mgds_inner_waitall(begun, run->request, run->status);
    if (rc != MPI_SUCCESS)
        mgds_inner_abandon(begun, run->request);
    run->count = 0;
    return rc;
}

/* As messages to itself: what has gaps. */
static void add_own(struct run *run)
{
    int rank = run->facts.rank;

    run->message[run->count++] = (struct message){run->taken, rank, false};
    run->message[run->count++] = (struct message){run->given, rank, true};
}

/* MPI's code, or *met: negative errno. */
static int pass_all(struct run *run, int *met)
{
    struct mgds_coll_own own = {.queue = NULL};
    int rc, ended;

    if (run->gives && run->takes) {
        *met = mgds_coll_own_begin(&own, &run->taken, &run->given);
        if (*met == 0)
            add_own(run);
    }
    rc = pass_messages(run);
    ended = mgds_coll_own_end(&own);
    if (*met >= 0)
        *met = ended;
    if (rc != MPI_SUCCESS || *met < 0 || run->pattern != SPREAD)
        return rc;
    *met = add_to_children(run);
    return *met < 0 ? rc : pass_messages(run);
}

/* False: the MPI below is to refuse the arguments. */
static bool go(mgds_word *result, struct run *run)
{
    int rc = allocate(run);
    int met = 0, code = MPI_SUCCESS;

    if (rc == 0)
        rc = add_messages(run);
    if (rc == 0) {
        mgds_count(direct_collectives);
        code = pass_all(run, &met);
    }
    free(run->message);
    if (rc == -EINVAL || rc == -EOVERFLOW)
        return false;
    if (rc < 0 || met < 0)
        code = mgds_mpi_error(run->comm, rc < 0 ? rc : met);
    else if (code != MPI_SUCCESS)
        code = mgds_mpi_raise(run->comm, code);
    *result = (mgds_word)code;
    return true;
}

/* Whether the call is one that members vote on at all: by what all of them know
 * of it. A root below 0 is one between groups, where other arguments mean
 * something. MPI's code. */
static int find_agreed(struct run *run)
{
    const struct mgds_coll_row *row = run->call->row;
    int rc;

    if (row->root != MGDS_COLL_NONE)
        run->root = (int)run->words[row->root];
    if (run->root < 0 ||
        (run->pattern == EXCHANGE && in_place(run, &row->send)) ||
        is_short(run))
        return MPI_SUCCESS;
    rc = mgds_coll_agreed_of(&run->agreed, row, run->comm);
    if (run->agreed && run->root >= run->agreed->facts.size)
        run->agreed = NULL;
    if (run->agreed)
        run->facts = run->agreed->facts;
    return rc;
}

static int ask_topology(struct run *run)
{
    int rc = MPI_SUCCESS;

    if (run->pattern == NEIGHBORS)
        rc = mgds_coll_agreed_neighbors(run->agreed, run->call->row, run->comm);
    run->facts = run->agreed->facts;
    return rc;
}

static int vote(struct run *run)
{
    bool gpu = false;
    MPI_Count most = look(&gpu, run);
    bool wants = gpu && most >= (MPI_Count)mgds_direct_collectives();

    return mgds_coll_vote(run->agreed, run->comm, run->call->row->id, wants);
}

static bool is_direct(const struct run *run)
{
    return run->agreed->row[run->call->row->id].direct;
}

/* MPI's code of what comes before the collective itself. */
static int decide(struct run *run)
{
    bool due = mgds_coll_vote_is_due(run->agreed, run->call->row->id);
    int rc = MPI_SUCCESS;

    if (due || is_direct(run))
        rc = ask_topology(run);
    return rc == MPI_SUCCESS && due ? vote(run) : rc;
}

bool mgds_coll_direct(mgds_word *result, const struct mgds_coll_call *call,
                      const mgds_word *words)
{
    enum { TAGS = 0x4000 };
    struct run run = {.call = call, .words = words};
    int rc;

    run.pattern = pattern_of(call);
    if (mgds_direct_collectives() == 0 || run.pattern == NO_PATTERN)
        return false;
    run.comm = (MPI_Comm)words[call->row->comm];
    rc = find_agreed(&run);
    if (rc == MPI_SUCCESS && run.agreed)
        rc = decide(&run);
    *result = (mgds_word)rc;
    if (rc != MPI_SUCCESS)
        return true;
    if (!run.agreed || !is_direct(&run))
        return false;
    run.agreed->tag = (run.agreed->tag + 1) % TAGS;
    return go(result, &run);
}
