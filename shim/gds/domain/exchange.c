/* Envelopes, and the steps that they move operations by; see engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/domain/engine.h"

/* An envelope for a domain that is not made yet: a member may leave the
 * collective call earlier than we do. Under the engine's lock. */
struct early {
    struct early *next;
    enum mgds_envelope kind;
    union mgds_envelope_head head;
};

static struct early *early, **early_last = &early;
static bool early_reached; /* an RTS came: what is early may be due */

static int post(struct mgds_wire_peer *peer,
                const struct mgds_wire_message *message)
{
    int rc = mgds_wire_post(peer, message);

    if (rc < 0) {
        errno = -rc;
        mgds_warn_once("a message to another process cannot be posted: %m");
    }
    return rc;
}

/* Sends. */

static void send_moved(struct mgds_op *op, int rc);

void mgds_exchange_called(struct mgds_op *op, bool reached)
{
    const struct mgds_domain *domain = op->domain;
    const struct mgds_rts head = {.domain = domain->id,
                                  .number = op->number,
                                  .cookie = (uint64_t)(uintptr_t)op,
                                  .bytes = op->bytes,
                                  .tag = op->tag,
                                  .rank = domain->rank,
                                  .index = op->from_index,
                                  .to_index = op->index,
                                  .reached = reached,
                                  .sync = op->sync};
    const struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_RTS, .head = &head, .head_bytes = sizeof(head)};
    int rc = post(domain->peer[op->rank], &message);

    if (rc < 0)
        send_moved(op, rc);
}

static struct mgds_wire_peer *peer_of(const struct mgds_op *op)
{
    return op->domain->peer[op->send ? op->rank : op->status.source];
}

/* The wire is done with the bytes of a send. */
static void data_done(void *arg, int rc)
{
    mgds_engine_enter();
    send_moved((struct mgds_op *)arg, rc);
    mgds_engine_leave();
}

/* Both must have happened: the receiver says where to, the stream when. */
static void try_data(struct mgds_op *op)
{
    const struct mgds_data head = {op->answer, op->error, 0};
    struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_DATA,
                                        .head = &head,
                                        .head_bytes = sizeof(head),
                                        .done = data_done,
                                        .arg = op};
    int rc;

    if (!op->asked || !op->reached || op->posted)
        return;
    op->posted = true;
    if (!op->error && op->wanted > 0) {
        message.body = mgds_op_place(op);
        message.body_bytes = op->wanted;
    }
    rc = post(peer_of(op), &message);
    if (rc < 0)
        send_moved(op, rc);
}

static bool is_staged(const struct mgds_op *op)
{
    return op->bounce || op->copy || op->bytes == 0;
}

static void try_finish_send(struct mgds_op *op)
{
    if (op->done || !op->reached || (op->sync && !op->asked))
        return;
    if (op->error || is_staged(op) || op->moved)
        mgds_op_finish(op, op->error);
}

/* Those who subscribed are told at once, while it can still matter. */
static void tell_reached(struct mgds_op *op)
{
    struct mgds_domain *domain = op->domain;
    const struct mgds_tell head = {domain->id,     op->number, domain->rank,
                                   op->from_index, op->index,  0};
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_REACHED,
                                              .head = &head,
                                              .head_bytes = sizeof(head)};

    if (op->asked || op->told || !domain->subscriber[op->rank])
        return;
    op->told = true;
    post(peer_of(op), &message);
}

static void send_reached(struct mgds_op *op)
{
    tell_reached(op);
    try_data(op);
    try_finish_send(op);
}

static void send_moved(struct mgds_op *op, int rc)
{
    op->moved = true;
    if (rc < 0 && !op->error)
        op->error = rc;
    try_finish_send(op);
    mgds_op_leave_engine(op);
}

/* Receives. */

static void recv_moved(struct mgds_op *op, int error);

static void try_pull(struct mgds_op *op)
{
    const struct mgds_message *from = op->message;
    struct mgds_pull head = {from->cookie, (uint64_t)(uintptr_t)op, 0};
    struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_PULL, .head = &head, .head_bytes = sizeof(head)};
    bool direct = !op->bounce && !op->copy && op->bytes > 0;
    int rc;

    if (op->pulled || ((direct || from->sync) && !op->reached))
        return;
    op->pulled = true;
    op->got = from->bytes < op->bytes ? from->bytes : op->bytes;
    head.bytes = op->got;
    rc = post(op->domain->peer[from->rank], &message);
    if (rc < 0)
        recv_moved(op, rc);
}

static void try_arrive(struct mgds_op *op)
{
    if (!op->moved || !op->reached || op->arrived)
        return;
    op->arrived = true;
    mgds_op_finish(op, op->error);
    mgds_op_leave_engine(op);
}

static void recv_moved(struct mgds_op *op, int error)
{
    op->moved = true;
    if (error && !op->error)
        op->error = error;
    try_arrive(op);
}

void mgds_exchange_paired(void *domain, struct mgds_match_recv *recv,
                          struct mgds_match_send *send)
{
    struct mgds_op *op = (struct mgds_op *)(void *)recv;
    struct mgds_message *message = (struct mgds_message *)(void *)send;

    (void)domain;
    op->message = message;
    op->status.source = (int)message->rank;
    op->status.tag = message->match.tag;
    if (message->bytes > op->bytes)
        op->error = -EMSGSIZE;
    try_pull(op);
}

static void recv_reached(struct mgds_op *op)
{
    if (op->message)
        try_pull(op);
    try_arrive(op);
}

void mgds_exchange_reached(struct mgds_op *op)
{
    op->reached = true;
    if (op->send)
        send_reached(op);
    else
        recv_reached(op);
}

void mgds_exchange_subscribe(struct mgds_domain *domain)
{
    const struct mgds_tell head = {.domain = domain->id, .rank = domain->rank};
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_SUBSCRIBE,
                                              .head = &head,
                                              .head_bytes = sizeof(head)};

    if (domain->subscribed)
        return;
    domain->subscribed = true;
    for (unsigned i = 0; i < domain->peers; i++)
        post(domain->peer[i], &message);
}

/* What comes in. */

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
    message = (struct mgds_message *)mgds_calloc(1, sizeof(*message));
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
        .sync = rts->sync};
    if (mgds_match_arrive(domain->match[rts->to_index], &message->match) < 0) {
        mgds_warn_once("a message that came twice was dropped");
        free(message);
    }
}

static void keep(enum mgds_envelope kind, const union mgds_envelope_head *head)
{
    struct early *item = (struct early *)mgds_calloc(1, sizeof(*item));

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

    if (!knows(domain, tell->rank, tell->index, tell->to_index))
        return;
    if (!mgds_match_reached(domain->match[tell->to_index],
                            (int)(domain->base[tell->rank] + tell->index),
                            tell->number))
        keep(MGDS_ENVELOPE_REACHED, head); /* until its RTS comes */
}

static void on_subscribe(struct mgds_domain *domain,
                         const struct mgds_tell *tell)
{
    if (tell->rank >= domain->peers)
        return;
    domain->subscriber[tell->rank] = true;
    for (struct mgds_op *op = domain->ops; op; op = op->next)
        if (op->send && op->reached && op->rank == (int)tell->rank)
            tell_reached(op);
}

static void on_pull(const struct mgds_pull *pull)
{
    struct mgds_op *op = (struct mgds_op *)(uintptr_t)pull->cookie;

    op->asked = true;
    op->answer = pull->answer;
    op->wanted = pull->bytes;
    try_data(op);
    try_finish_send(op);
}

static struct mgds_domain *domain_of(enum mgds_envelope kind,
                                     const union mgds_envelope_head *head)
{
    uint64_t id =
        kind == MGDS_ENVELOPE_RTS ? head->rts.domain : head->tell.domain;

    return mgds_domain_find(id);
}

/* False: its domain is not there yet. */
static bool deliver(enum mgds_envelope kind,
                    const union mgds_envelope_head *head)
{
    struct mgds_domain *domain = domain_of(kind, head);

    if (!domain)
        return false;
    if (kind == MGDS_ENVELOPE_RTS) {
        on_rts(domain, &head->rts);
        early_reached = early != NULL;
    } else if (kind == MGDS_ENVELOPE_REACHED)
        on_reached(domain, head);
    else
        on_subscribe(domain, &head->tell);
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
    else if (!deliver(kind, &copy))
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
    mgds_engine_enter();
    recv_moved((struct mgds_op *)arg, rc);
    mgds_engine_leave();
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
    if (body_bytes == 0) {
        data_landed(op, data.error);
        return 0;
    }
    *where = mgds_op_place(op);
    *arg = op;
    return 0;
}

void mgds_exchange_init(void)
{
    static const enum mgds_envelope kinds[] = {
        MGDS_ENVELOPE_RTS, MGDS_ENVELOPE_PULL, MGDS_ENVELOPE_REACHED,
        MGDS_ENVELOPE_SUBSCRIBE};
    struct mgds_wire_handler handler = {take_data, data_landed, NULL};

    mgds_wire_handle(MGDS_ENVELOPE_DATA, &handler);
    handler.head = take_envelope;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        handler.ctx = (void *)(uintptr_t)kinds[i];
        mgds_wire_handle(kinds[i], &handler);
    }
}
