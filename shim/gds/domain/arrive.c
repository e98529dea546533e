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
           domain->base[rank] + index < domain->base[rank + 1];
}

static void on_rts(struct mgds_domain *domain, const struct mgds_rts *rts)
{
    struct mgds_message *message;

    if (!knows(domain, rts->rank, rts->index, rts->to_index)) {
        mgds_warn_once("a message for no rank of its communicator was dropped");
        return;
    }
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
        .serial = rts->serial,
        .sync = rts->sync,
        .units = rts->units};
    mgds_pull_arrived(message, rts);
    if (mgds_match_arrive(domain->match[rts->to_index], &message->match) < 0) {
        mgds_warn_once("a message that came twice was dropped");
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

    if (!knows(domain, tell->rank, tell->index, tell->to_index) ||
        domain->lost[tell->rank])
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
    if (tell->rank >= domain->peers)
        return;
    domain->subscriber[tell->rank] = true;
    for (struct mgds_op *op = domain->ops; op; op = op->next)
        if (op->send && op->reached && op->rank == (int)tell->rank)
            mgds_exchange_tell(op, false);
}

static void on_memory(struct mgds_domain *domain, enum mgds_envelope kind,
                      const union mgds_envelope_head *head)
{
    const struct mgds_exported *exported = &head->exported;
    const struct mgds_imported *imported = &head->imported;

    if (kind == MGDS_ENVELOPE_EXPORT &&
        knows(domain, exported->rank, exported->index, exported->to_index))
        mgds_memory_exported(domain, exported);
    if (kind == MGDS_ENVELOPE_IMPORTED &&
        knows(domain, imported->rank, imported->index, imported->to_index))
        mgds_memory_imported(domain, imported);
}

static void on_pull(const struct mgds_pull *pull)
{
    struct mgds_op *op = (struct mgds_op *)(uintptr_t)pull->cookie;

    if (op->lost)
        return;
    op->asked = true;
    op->answer = pull->answer;
    op->wanted = pull->bytes;
    mgds_exchange_asked(op);
}

/* So the stream came to it, even if we do not see that yet. */
static void take_back(uint64_t cookie)
{
    struct mgds_op *op = (struct mgds_op *)(uintptr_t)cookie;

    if (op->lost)
        return;
    if (!op->lane) {
        mgds_err("rank %d says that it took a message from its ring, but none "
                 "is there: passed over",
                 op->rank);
        return;
    }
    mgds_landing_give(op->lane, &op->place);
    op->lane = NULL;
    mgds_exchange_send_moved(op, 0);
}

static void on_taken(const struct mgds_taken *taken)
{
    for (uint64_t i = 0; i < taken->count && i < MGDS_TAKEN_MOST; i++)
        take_back(taken->cookie[i]);
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

/* False: its domain is not there yet. */
static bool deliver(enum mgds_envelope kind,
                    const union mgds_envelope_head *head)
{
    struct mgds_domain *domain = mgds_domain_find(id_of(kind, head));

    if (!domain)
        return false;
    if (kind == MGDS_ENVELOPE_RTS) {
        on_rts(domain, &head->rts);
        early_reached = early_reached || waits_for_rts(domain->id);
    } else if (kind == MGDS_ENVELOPE_REACHED) {
        on_reached(domain, head);
    } else if (kind == MGDS_ENVELOPE_SUBSCRIBE) {
        on_subscribe(domain, &head->tell);
    } else {
        on_memory(domain, kind, head);
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
    union mgds_envelope_head copy = {{0}};

    (void)body_bytes;
    (void)where;
    (void)arg;
    memcpy(&copy, head, head_bytes < sizeof(copy) ? head_bytes : sizeof(copy));
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
    mgds_exchange_recv_moved(op, rc);
    mgds_engine_leave();
}

/* False: nobody waits for it any more. */
static bool begin_landing(struct mgds_op *op, size_t body_bytes, int error)
{
    bool wanted;

    mgds_engine_enter();
    wanted = !op->lost;
    if (!wanted || body_bytes > 0)
        op->landing = wanted;
    else if (op->message->pull && !error)
        mgds_fetch_add(op);
    else
        mgds_exchange_recv_moved(op, error);
    mgds_engine_leave();
    return wanted && body_bytes > 0;
}

static int take_data(void *ctx, const void *head, size_t head_bytes,
                     size_t body_bytes, void **where, void **arg)
{
    struct mgds_data data;
    struct mgds_op *op;

    (void)ctx;
    (void)head_bytes;
    memcpy(&data, head, sizeof(data));
    op = (struct mgds_op *)(uintptr_t)data.answer;
    if (!begin_landing(op, body_bytes, data.error))
        return -ECANCELED;
    *where = mgds_op_place(op);
    *arg = op;
    return 0;
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
