/* Senders of envelopes are held against what they name; see admit.h. */
#include "shim/gds/comm/admit.h"

#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"

static bool comm_has(const struct mgds_comm *comm,
                     const struct mgds_envelope_ends *ends)
{
    unsigned streams = comm->streams ? comm->streams : 1;

    return ends->rank < comm->peers && ends->to_index < streams &&
           ends->index < comm->base[ends->rank + 1] - comm->base[ends->rank];
}

bool mgds_admit_rank(const struct mgds_comm *comm, uint32_t rank, uint64_t from)
{
    return mgds_wire_peer_process(comm->member[rank].peer) == from;
}

static const char *reason_against(const struct mgds_comm *comm,
                                  const struct mgds_envelope_ends *ends,
                                  uint64_t from)
{
    if (!comm_has(comm, ends))
        return "its communicator has no such rank or streams";
    return mgds_admit_rank(comm, ends->rank, from)
               ? NULL
               : "another process has sent it";
}

struct mgds_comm *mgds_admit(const struct mgds_am *am,
                             enum mgds_am_verdict *verdict)
{
    const uint64_t id = mgds_envelope_comm(am->kind, &am->head);
    const struct mgds_envelope_ends ends =
        mgds_envelope_ends(am->kind, &am->head);
    struct mgds_comm *comm = mgds_comm_find(id);
    const char *why;

    *verdict = comm || mgds_comm_is_gone(id) ? MGDS_AM_DONE : MGDS_AM_EARLY;
    if (!comm)
        return NULL;
    why = reason_against(comm, &ends, am->from);
    if (!why)
        return comm;
    mgds_envelope_refuse(am->kind, ends.rank, why);
    return NULL;
}

struct mgds_op *mgds_admit_send(const struct mgds_am *am, uint64_t request_id,
                                uint32_t rank)
{
    struct mgds_op *op = mgds_op_find(request_id);
    bool its = op && op->send && op->call->rank == (int)rank &&
               mgds_admit_rank(op->comm, rank, am->from);

    if (its && !mgds_op_is_lost(op))
        return op;
    if (!its && !mgds_op_was_lost(request_id))
        mgds_envelope_refuse(am->kind, rank,
                             "it names no send to that rank that is under way");
    return NULL;
}

/* The receive has asked for its bytes, and not all of them have come yet. */
static bool is_due(const struct mgds_op *op)
{
    return op->state == MGDS_OP_FILLING ||
           (op->state == MGDS_OP_PULLED && !op->recv->fetch && !op->flow);
}

struct mgds_op *mgds_admit_recv(const struct mgds_data *data, uint64_t from)
{
    struct mgds_op *op = mgds_op_find(data->answer);
    bool its = op && !op->send && op->recv->message &&
               op->recv->message->rank == data->rank &&
               mgds_admit_rank(op->comm, data->rank, from);

    if (its && !mgds_op_is_lost(op) && is_due(op))
        return op;
    if ((its && mgds_op_is_lost(op)) || mgds_op_was_lost(data->answer))
        return NULL;
    mgds_envelope_refuse(MGDS_ENVELOPE_DATA, data->rank,
                         "it names no receive that waits for bytes of that "
                         "rank");
    return NULL;
}
