/* Senders of envelopes are held against what they name; see admit.h. */
#include "shim/gds/comm/admit.h"

#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"

static bool domain_has(const struct mgds_domain *domain,
                       const struct mgds_envelope_ends *ends)
{
    unsigned streams = domain->streams ? domain->streams : 1;

    return ends->rank < domain->peers && ends->to_index < streams &&
           ends->index <
               domain->base[ends->rank + 1] - domain->base[ends->rank];
}

bool mgds_admit_rank(const struct mgds_domain *domain, uint32_t rank,
                     uint64_t from)
{
    return mgds_wire_peer_process(domain->member[rank].peer) == from;
}

static const char *reason_against(const struct mgds_domain *domain,
                                  const struct mgds_envelope_ends *ends,
                                  uint64_t from)
{
    if (!domain_has(domain, ends))
        return "its communicator has no such rank or streams";
    return mgds_admit_rank(domain, ends->rank, from)
               ? NULL
               : "another process has sent it";
}

struct mgds_domain *mgds_admit(const struct mgds_am *am,
                               enum mgds_am_verdict *verdict)
{
    const uint64_t id = mgds_envelope_domain(am->kind, &am->head);
    const struct mgds_envelope_ends ends =
        mgds_envelope_ends(am->kind, &am->head);
    struct mgds_domain *domain = mgds_domain_find(id);
    const char *why;

    *verdict = domain || mgds_domain_is_gone(id) ? MGDS_AM_DONE : MGDS_AM_EARLY;
    if (!domain)
        return NULL;
    why = reason_against(domain, &ends, am->from);
    if (!why)
        return domain;
    mgds_envelope_refuse(am->kind, ends.rank, why);
    return NULL;
}

struct mgds_op *mgds_admit_send(const struct mgds_am *am, uint64_t cookie,
                                uint32_t rank)
{
    struct mgds_op *op = mgds_op_find(cookie);
    bool its = op && op->send && op->call->rank == (int)rank &&
               mgds_admit_rank(op->domain, rank, am->from);

    if (its && !mgds_op_is_lost(op))
        return op;
    if (!its && !mgds_op_was_lost(cookie))
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
               mgds_admit_rank(op->domain, data->rank, from);

    if (its && !mgds_op_is_lost(op) && is_due(op))
        return op;
    if ((its && mgds_op_is_lost(op)) || mgds_op_was_lost(data->answer))
        return NULL;
    mgds_envelope_refuse(MGDS_ENVELOPE_DATA, data->rank,
                         "it names no receive that waits for bytes of that "
                         "rank");
    return NULL;
}
