/* What comes in: envelopes, the bytes of receives, and envelopes that are
 * early; see engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/memory.h"
#include "shim/gds/domain/pull.h"

/* An envelope for a domain that is not made yet: a member may leave the
 * collective call earlier than we do. Under the engine's lock. */
struct early {
    struct early *next;
    enum mgds_envelope kind;
    union mgds_envelope_head head;
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

/* Likewise, and says it of an envelope that nobody of the domain sent. */
static bool admits(const struct mgds_domain *domain, enum mgds_envelope kind,
                   const struct mgds_tell *tell)
{
    bool known = knows(domain, tell->rank, tell->index, tell->to_index);

    if (!known)
        mgds_envelope_refuse(kind, tell->rank,
                             "its communicator has no such rank or streams");
    return known;
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
        mgds_pull_forget(message);
        mgds_spares_give(&mgds_message_spares, message);
    }
}

static uint64_t id_of(enum mgds_envelope kind,
                      const union mgds_envelope_head *head)
{
    return kind == MGDS_ENVELOPE_RTS ? head->rts.domain : head->tell.domain;
}

static void keep(enum mgds_envelope kind, const union mgds_envelope_head *head)
{
    struct early *item;

    if (mgds_domain_is_gone(id_of(kind, head)))
        return;
    item = (struct early *)mgds_calloc(1, sizeof(*item));
    if (!item) {
        mgds_warn("no memory for a message that came early: it is lost");
        return;
    }
    *item = (struct early){.kind = kind, .head = *head};
    *early_last = item;
    early_last = &item->next;
}

static void on_reached(struct mgds_domain *domain,
                       const union mgds_envelope_head *head)
{
    const struct mgds_tell *tell = &head->tell;
    int source;

    if (domain->lost[tell->rank])
        return;
    source = (int)(domain->base[tell->rank] + tell->index);
    if (!mgds_match_reached(domain->match[tell->to_index], source,
                            tell->number))
        keep(MGDS_ENVELOPE_REACHED, head); /* until its RTS comes */
    else
        mgds_pull_reached(domain, source, tell->number);
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
static struct mgds_op *send_of(enum mgds_envelope kind, uint64_t cookie,
                               uint32_t rank)
{
    struct mgds_op *op = mgds_op_find(cookie);

    if (op && op->lost)
        return NULL;
    if (op && op->send && op->rank == (int)rank)
        return op;
    mgds_envelope_refuse(kind, rank,
                         "it names no send to that rank that is under way");
    return NULL;
}

static void on_pull(const struct mgds_pull *pull)
{
    struct mgds_op *op = send_of(MGDS_ENVELOPE_PULL, pull->cookie, pull->rank);

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
static void take_back(uint64_t cookie, uint32_t rank)
{
    struct mgds_op *op = send_of(MGDS_ENVELOPE_TAKEN, cookie, rank);

    if (!op)
        return;
    if (!op->lane || (op->asked && !op->pull)) {
        mgds_envelope_refuse(MGDS_ENVELOPE_TAKEN, rank,
                             "the message is in no ring, or was asked for");
        return;
    }
    mgds_landing_give(op->lane, &op->place);
    op->lane = NULL;
    mgds_exchange_send_moved(op, 0);
}

static void on_taken(const struct mgds_taken *taken)
{
    for (uint32_t i = 0; i < taken->count; i++)
        take_back(taken->cookie[i], taken->rank);
}

/* A REACHED that came before its RTS. */
static bool waits_for_rts(uint64_t id)
{
    const struct early *item = early;

    while (item && (item->kind != MGDS_ENVELOPE_REACHED ||
                    item->head.tell.domain != id))
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
static bool deliver(enum mgds_envelope kind,
                    const union mgds_envelope_head *head)
{
    struct mgds_domain *domain = mgds_domain_find(id_of(kind, head));
    const struct mgds_tell ends = ends_of(kind, head);

    if (!domain)
        return false;
    if (!admits(domain, kind, &ends))
        return true;
    if (kind == MGDS_ENVELOPE_RTS) {
        on_rts(domain, &head->rts);
        early_reached = early_reached || waits_for_rts(domain->id);
    } else if (kind == MGDS_ENVELOPE_REACHED) {
        on_reached(domain, head);
    } else if (kind == MGDS_ENVELOPE_SUBSCRIBE) {
        on_subscribe(domain, &head->tell);
    } else if (kind == MGDS_ENVELOPE_EXPORT) {
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

        if (!deliver(item->kind, &item->head))
            keep(item->kind, &item->head);
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

static int take_envelope(void *ctx, const void *head, size_t head_bytes,
                         size_t body_bytes, void **where, void **arg)
{
    enum mgds_envelope kind = (enum mgds_envelope)(uintptr_t)ctx;
    union mgds_envelope_head copy;

    (void)where;
    (void)arg;
    if (mgds_envelope_open(&copy, kind, head, head_bytes, body_bytes) < 0)
        return -EPROTO;
    mgds_engine_enter();
    if (kind == MGDS_ENVELOPE_PULL)
        on_pull(&copy.pull);
    else if (kind == MGDS_ENVELOPE_TAKEN)
        on_taken(&copy.taken);
    else if (kind != MGDS_ENVELOPE_HELLO && !deliver(kind, &copy))
        keep(kind, &copy);
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
static struct mgds_op *recv_of(const struct mgds_data *data)
{
    struct mgds_op *op = mgds_op_find(data->answer);

    if (op && op->lost)
        return NULL;
    if (op && !op->send && op->message && op->message->rank == data->rank &&
        is_due(op))
        return op;
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

static int take_data(void *ctx, const void *head, size_t head_bytes,
                     size_t body_bytes, void **where, void **arg)
{
    union mgds_envelope_head copy;
    struct mgds_op *op;
    bool lands;

    (void)ctx;
    if (mgds_envelope_open(&copy, MGDS_ENVELOPE_DATA, head, head_bytes,
                           body_bytes) < 0)
        return -EPROTO;
    mgds_engine_enter();
    op = recv_of(&copy.data);
    lands = op && begin_landing(op, &copy.data, body_bytes);
    if (lands) {
        *where = mgds_op_place(op);
        *arg = op;
    }
    mgds_engine_leave();
    return lands ? 0 : -ECANCELED;
}

void mgds_exchange_init(void)
{
    static const enum mgds_envelope kinds[] = {
        MGDS_ENVELOPE_RTS,       MGDS_ENVELOPE_PULL,    MGDS_ENVELOPE_REACHED,
        MGDS_ENVELOPE_SUBSCRIBE, MGDS_ENVELOPE_TAKEN,   MGDS_ENVELOPE_HELLO,
        MGDS_ENVELOPE_EXPORT,    MGDS_ENVELOPE_IMPORTED};
    struct mgds_wire_handler handler = {take_data, data_landed, NULL};

    mgds_wire_handle(MGDS_ENVELOPE_DATA, &handler);
    handler.head = take_envelope;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        handler.ctx = (void *)(uintptr_t)kinds[i];
        mgds_wire_handle(kinds[i], &handler);
    }
}
