/* What comes in: envelopes, the bytes of receives, and envelopes that are
 * early; see engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/expire.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/memory.h"
#include "shim/gds/domain/pull.h"

/* As it came: of that process, by its seal (wire/seal.h). */
struct came {
    enum mgds_envelope kind;
    uint64_t from;
    union mgds_envelope_head head;
};

/* An envelope for a domain that is not made yet: a member may leave the
 * collective call earlier than we do. Under the engine's lock. */
struct early {
    struct early *next;
    struct came came;
};

static struct early *early, **early_last = &early;
static bool early_reached; /* an RTS came: what is early may be due */

static bool knows(const struct mgds_domain *domain, uint32_t rank,
                  uint32_t index, uint32_t to_index)
{
    unsigned streams = domain->streams ? domain->streams : 1;

    return rank < domain->peers && to_index < streams &&
           index < domain->base[rank + 1] - domain->base[rank];
}

/* The rank is that process. */
static bool is_from(const struct mgds_domain *domain, uint32_t rank,
                    uint64_t from)
{
    return mgds_wire_peer_process(domain->peer[rank]) == from;
}

/* Likewise, and says it of an envelope that the member did not send. */
static bool admits(const struct mgds_domain *domain, const struct came *it,
                   const struct mgds_tell *tell)
{
    const char *why = NULL;

    if (!knows(domain, tell->rank, tell->index, tell->to_index))
        why = "its communicator has no such rank or streams";
    else if (!is_from(domain, tell->rank, it->from))
        why = "another process has sent it";
    if (why)
        mgds_envelope_refuse(it->kind, tell->rank, why);
    return !why;
}

/* One whose place is none comes in another way, or not at all. */
static bool has_place(const struct mgds_domain *domain,
                      const struct mgds_rts *rts)
{
    unsigned source = domain->base[rts->rank] + rts->index;
    size_t bytes = rts->address ? 0 : rts->bytes;

    if (rts->serial == 0 || mgds_landing_holds(domain->landing, rts->to_index,
                                               source, rts->units, bytes))
        return rts->serial != 0;
    mgds_envelope_refuse(MGDS_ENVELOPE_RTS, rts->rank,
                         "its place is not in the ring: the message is asked "
                         "for");
    return false;
}

static void drop(struct mgds_message *message)
{
    mgds_pull_forget(message);
    mgds_spares_give(&mgds_message_spares, message);
}

static void on_rts(struct mgds_domain *domain, const struct mgds_rts *rts)
{
    struct mgds_message *message;

    if (domain->lost[rts->rank])
        return;
    message = (struct mgds_message *)mgds_spares_take(&mgds_message_spares);
    if (!message) {
        mgds_warn("no memory for a message that came: it is lost, and its "
                  "receive will not end");
        return;
    }
    *message = (struct mgds_message){
        .match = {.source = (int)(domain->base[rts->rank] + rts->index),
                  .tag = rts->tag,
                  .number = rts->number,
                  .reached = rts->reached},
        .to_index = rts->to_index,
        .domain = domain,
        .rank = rts->rank,
        .index = rts->index,
        .cookie = rts->cookie,
        .bytes = rts->bytes,
        .serial = has_place(domain, rts) ? rts->serial : 0,
        .sync = rts->sync,
        .units = rts->units};
    mgds_pull_arrived(message, rts);
    if (mgds_match_arrive(domain->match[rts->to_index], &message->match) < 0) {
        mgds_envelope_refuse(MGDS_ENVELOPE_RTS, rts->rank,
                             "its message has come before");
        drop(message);
    }
}

static uint64_t id_of(const struct came *it)
{
    return it->kind == MGDS_ENVELOPE_RTS ? it->head.rts.domain
                                         : it->head.tell.domain;
}

static void keep(const struct came *it)
{
    struct early *item;

    item = (struct early *)mgds_calloc(1, sizeof(*item));
    if (!item) {
        mgds_warn("no memory for a message that came early: it is lost");
        return;
    }
    item->came = *it;
    *early_last = item;
    early_last = &item->next;
}

/* Of a communicator that is gone here: nobody will match it. */
static void on_stray_revoke(const struct came *it)
{
    const struct mgds_revoke *revoke = &it->head.revoke;
    const struct mgds_ended ended = {revoke->cookie, -ETIMEDOUT,
                                     revoke->receiver};
    struct mgds_wire_peer *peer = mgds_wire_peer_find(it->from);

    if (!peer)
        return;
    mgds_exchange_end(peer, &ended);
    mgds_wire_peer_put(peer);
}

/* Its domain is not there: yet, or any more. */
static void keep_stray(const struct came *it)
{
    if (!mgds_domain_is_gone(id_of(it)))
        keep(it);
    else if (it->kind == MGDS_ENVELOPE_REVOKE)
        on_stray_revoke(it);
}

/* Of who sent what is told of. */
static int source_of(const struct mgds_domain *domain,
                     const struct mgds_tell *tell)
{
    return (int)(domain->base[tell->rank] + tell->index);
}

static void on_reached(struct mgds_domain *domain, const struct came *it)
{
    const struct mgds_tell *tell = &it->head.tell;
    int source;

    if (domain->lost[tell->rank])
        return;
    source = source_of(domain, tell);
    if (!mgds_match_reached(domain->match[tell->to_index], source,
                            tell->number))
        keep(it); /* until its RTS comes */
    else
        mgds_pull_reached(domain, source, tell->to_index, tell->number);
}

static void on_revoke(struct mgds_domain *domain, const struct came *it)
{
    const struct mgds_revoke *revoke = &it->head.revoke;
    const struct mgds_tell *tell = &revoke->message;
    struct mgds_match *match = domain->match[tell->to_index];
    struct mgds_ended ended = {.cookie = revoke->cookie, .rank = domain->rank};
    struct mgds_match_send *send;
    enum mgds_match_where where;
    int source;

    if (domain->lost[tell->rank])
        return;
    source = source_of(domain, tell);
    where = mgds_match_look(match, source, tell->number, &send);
    if (where == MGDS_MATCH_COMING) {
        keep(it);
        return;
    }
    if (where == MGDS_MATCH_WAITING) {
        mgds_match_withdraw(match, send);
        drop((struct mgds_message *)(void *)send);
    }
    ended.error = where == MGDS_MATCH_WAITING ? -ETIMEDOUT : 0;
    mgds_exchange_end(domain->peer[tell->rank], &ended);
    /* how that ends is told when it is known: an answer, before, it has */
    if (ended.error == 0)
        mgds_expire_matched(domain, source, tell);
}

static void on_subscribe(struct mgds_domain *domain,
                         const struct mgds_tell *tell)
{
    domain->subscriber[tell->rank] = true;
    for (struct mgds_op *op = domain->ops; op; op = op->next)
        if (op->send && op->reached && op->rank == (int)tell->rank)
            mgds_exchange_tell(op, false);
}

/* The send that the rank names; NULL: there is none, which was said, or it is
 * lost. */
static struct mgds_op *send_of(const struct came *it, uint64_t cookie,
                               uint32_t rank)
{
    struct mgds_op *op = mgds_op_find(cookie);
    bool its = op && op->send && op->rank == (int)rank &&
               is_from(op->domain, rank, it->from);

    if (its && !op->lost)
        return op;
    if (!its && !mgds_op_was_lost(cookie))
        mgds_envelope_refuse(it->kind, rank,
                             "it names no send to that rank that is under way");
    return NULL;
}

static void on_pull(const struct came *it)
{
    const struct mgds_pull *pull = &it->head.pull;
    struct mgds_op *op = send_of(it, pull->cookie, pull->rank);

    if (!op)
        return;
    if (op->asked) {
        mgds_envelope_refuse(MGDS_ENVELOPE_PULL, pull->rank,
                             "the send was asked for before");
        return;
    }
    if (pull->bytes > op->bytes && !op->pull) {
        mgds_envelope_refuse(MGDS_ENVELOPE_PULL, pull->rank,
                             "it asks for more than the send has, which fails");
        op->error = op->error ? op->error : -EIO;
    }
    op->asked = true;
    op->answer = pull->answer;
    op->wanted = pull->bytes;
    mgds_exchange_asked(op);
}

/* So the stream came to it, even if we do not see that yet. Unless it was asked
 * for: then it comes staged, or, if its receiver copies it, may be copied. */
static void take_back(const struct came *it, uint64_t cookie)
{
    struct mgds_op *op = send_of(it, cookie, it->head.taken.rank);

    if (!op)
        return;
    if (!op->lane || (op->asked && !op->pull)) {
        mgds_envelope_refuse(it->kind, it->head.taken.rank,
                             "the message is in no ring, or was asked for");
        return;
    }
    mgds_landing_give(op->lane, &op->place);
    op->lane = NULL;
    mgds_exchange_send_moved(op, 0);
}

static void on_taken(const struct came *it)
{
    for (uint32_t i = 0; i < it->head.taken.count; i++)
        take_back(it, it->head.taken.cookie[i]);
}

/* The send may be over: nothing is wrong with that. */
static void on_ended(const struct came *it)
{
    const struct mgds_ended *ended = &it->head.ended;
    struct mgds_op *op = mgds_op_find(ended->cookie);

    if (op && op->send && op->rank == (int)ended->rank &&
        is_from(op->domain, ended->rank, it->from))
        mgds_expire_ended(op, ended->error);
}

static bool is_after_rts(const struct came *it)
{
    return it->kind == MGDS_ENVELOPE_REACHED ||
           it->kind == MGDS_ENVELOPE_REVOKE;
}

/* One that came before its RTS. */
static bool waits_for_rts(uint64_t id)
{
    const struct early *item = early;

    while (item && (!is_after_rts(&item->came) || id_of(&item->came) != id))
        item = item->next;
    return item != NULL;
}

/* Who sent it to which stream. */
static struct mgds_tell ends_of(enum mgds_envelope kind,
                                const union mgds_envelope_head *head)
{
    switch (kind) {
    case MGDS_ENVELOPE_RTS:
        return (struct mgds_tell){.rank = head->rts.rank,
                                  .index = head->rts.index,
                                  .to_index = head->rts.to_index};
    case MGDS_ENVELOPE_EXPORT:
        return (struct mgds_tell){.rank = head->exported.rank,
                                  .index = head->exported.index,
                                  .to_index = head->exported.to_index};
    case MGDS_ENVELOPE_IMPORTED:
        return (struct mgds_tell){.rank = head->imported.rank,
                                  .index = head->imported.index,
                                  .to_index = head->imported.to_index};
    default:
        return head->tell;
    }
}

/* False: its domain is not there yet. */
static bool deliver(const struct came *it)
{
    const union mgds_envelope_head *head = &it->head;
    struct mgds_domain *domain = mgds_domain_find(id_of(it));
    const struct mgds_tell ends = ends_of(it->kind, head);

    if (!domain)
        return false;
    if (!admits(domain, it, &ends))
        return true;
    if (it->kind == MGDS_ENVELOPE_RTS) {
        on_rts(domain, &head->rts);
        early_reached = early_reached || waits_for_rts(domain->id);
    } else if (it->kind == MGDS_ENVELOPE_REACHED) {
        on_reached(domain, it);
    } else if (it->kind == MGDS_ENVELOPE_REVOKE) {
        on_revoke(domain, it);
    } else if (it->kind == MGDS_ENVELOPE_SUBSCRIBE) {
        on_subscribe(domain, &head->tell);
    } else if (it->kind == MGDS_ENVELOPE_EXPORT) {
        mgds_memory_exported(domain, &head->exported);
    } else {
        mgds_memory_imported(domain, &head->imported);
    }
    return true;
}

/* Envelopes that came early are tried again; what still is is kept again. */
void mgds_exchange_replay(void)
{
    struct early *item = early;

    early = NULL;
    early_last = &early;
    while (item) {
        struct early *next = item->next;

        if (!deliver(&item->came))
            keep_stray(&item->came);
        free(item);
        item = next;
    }
}

void mgds_exchange_forget(void)
{
    while (early) {
        struct early *next = early->next;

        free(early);
        early = next;
    }
    early_last = &early;
}

/* The wire's calls. */

static int take_envelope(void *ctx, struct mgds_wire_arrival *arrival)
{
    struct came it = {.kind = (enum mgds_envelope)(uintptr_t)ctx,
                      .from = arrival->from};

    if (mgds_envelope_open(&it.head, it.kind, arrival->head,
                           arrival->head_bytes, arrival->body_bytes) < 0)
        return -EPROTO;
    mgds_engine_enter();
    if (it.kind == MGDS_ENVELOPE_PULL)
        on_pull(&it);
    else if (it.kind == MGDS_ENVELOPE_TAKEN)
        on_taken(&it);
    else if (it.kind == MGDS_ENVELOPE_ENDED)
        on_ended(&it);
    else if (it.kind != MGDS_ENVELOPE_HELLO && !deliver(&it))
        keep_stray(&it);
    if (early_reached) {
        early_reached = false;
        mgds_exchange_replay();
    }
    mgds_engine_leave();
    return -ENOSYS; /* no body is due */
}

static void data_landed(void *arg, int rc)
{
    struct mgds_op *op = (struct mgds_op *)arg;

    mgds_engine_enter();
    op->landing = false;
    mgds_exchange_landed(op, rc);
    mgds_engine_leave();
}

/* It was asked for, and nothing of it has come yet. */
static bool is_due(const struct mgds_op *op)
{
    return op->pulled && !op->moved && !op->landing && !op->fetching;
}

/* The receive that the rank names; NULL: there is none, which was said, or it
 * is lost. */
static struct mgds_op *recv_of(const struct mgds_data *data, uint64_t from)
{
    struct mgds_op *op = mgds_op_find(data->answer);
    bool its = op && !op->send && op->message &&
               op->message->rank == data->rank &&
               is_from(op->domain, data->rank, from);

    if (its && !op->lost && is_due(op))
        return op;
    if ((its && op->lost) || mgds_op_was_lost(data->answer))
        return NULL;
    mgds_envelope_refuse(MGDS_ENVELOPE_DATA, data->rank,
                         "it names no receive that waits for bytes of that "
                         "rank");
    return NULL;
}

/* What it must bring. */
static size_t bytes_due(const struct mgds_op *op, const struct mgds_data *data)
{
    return data->error || op->message->pull ? 0 : op->got;
}

/* False: no bytes land. */
static bool begin_landing(struct mgds_op *op, const struct mgds_data *data,
                          size_t body_bytes)
{
    if (body_bytes != bytes_due(op, data)) {
        mgds_envelope_refuse(MGDS_ENVELOPE_DATA, data->rank,
                             "it has not as many bytes as were asked for: the "
                             "receive fails");
        mgds_exchange_recv_moved(op, -EIO);
        return false;
    }
    op->landing = body_bytes > 0;
    if (op->landing)
        return true;
    if (op->message->pull && !data->error)
        mgds_fetch_add(op);
    else
        mgds_exchange_recv_moved(op, data->error);
    return false;
}

static int take_data(void *ctx, struct mgds_wire_arrival *arrival)
{
    union mgds_envelope_head copy;
    struct mgds_op *op;
    bool lands;

    (void)ctx;
    if (mgds_envelope_open(&copy, MGDS_ENVELOPE_DATA, arrival->head,
                           arrival->head_bytes, arrival->body_bytes) < 0)
        return -EPROTO;
    mgds_engine_enter();
    op = recv_of(&copy.data, arrival->from);
    lands = op && begin_landing(op, &copy.data, arrival->body_bytes);
    if (lands) {
        arrival->where = mgds_op_place(op);
        arrival->arg = op;
    }
    mgds_engine_leave();
    return lands ? 0 : -ECANCELED;
}

void mgds_exchange_init(void)
{
    static const enum mgds_envelope kinds[] = {
        MGDS_ENVELOPE_RTS,       MGDS_ENVELOPE_PULL,     MGDS_ENVELOPE_REACHED,
        MGDS_ENVELOPE_SUBSCRIBE, MGDS_ENVELOPE_TAKEN,    MGDS_ENVELOPE_HELLO,
        MGDS_ENVELOPE_EXPORT,    MGDS_ENVELOPE_IMPORTED, MGDS_ENVELOPE_REVOKE,
        MGDS_ENVELOPE_ENDED};
    struct mgds_wire_handler handler = {take_data, data_landed, NULL};

    mgds_wire_handle(MGDS_ENVELOPE_DATA, &handler);
    handler.head = take_envelope;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        handler.ctx = (void *)(uintptr_t)kinds[i];
        mgds_wire_handle(kinds[i], &handler);
    }
}
