/* Envelopes, and the steps that they move operations by; see engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/queue/gstream.h"

/* An envelope for a domain that is not made yet: a member may leave the
 * collective call earlier than we do. Under the engine's lock. */
struct early {
    struct early *next;
    enum mgds_envelope kind;
    union mgds_envelope_head head;
};

static struct early *early, **early_last = &early;
static bool early_reached; /* an RTS came: what is early may be due */

/* One message less makes a peer useless. Other ends are told otherwise. */
static void posted(void *arg, int rc)
{
    const struct mgds_wire_peer *peer = (const struct mgds_wire_peer *)arg;

    if (rc == 0 || rc == -ECANCELED || mgds_wire_peer_error(peer) < 0)
        return;
    mgds_engine_enter();
    mgds_lost_peer(peer);
    mgds_engine_leave();
}

static int post(struct mgds_wire_peer *peer,
                const struct mgds_wire_message *message)
{
    struct mgds_wire_message told = *message;
    int rc;

    if (!told.done) {
        told.done = posted;
        told.arg = peer;
    }
    rc = mgds_wire_post(peer, &told);

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
                                  .sync = op->sync,
                                  .serial = op->lane ? op->place.serial : 0,
                                  .units = op->place.units};
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
    if (op->done || !op->reached || (op->sync && !op->asked && !op->error))
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

/* Nobody will look at its place in the ring. Not if the stream has not come to
 * it: it would write there later. */
static void give_place(struct mgds_op *op)
{
    if (op->lane && op->reached)
        mgds_landing_give(op->lane, &op->place);
    op->lane = NULL;
}

static void send_moved(struct mgds_op *op, int rc)
{
    give_place(op);
    op->moved = true;
    if (rc < 0 && !op->error)
        op->error = rc;
    if (rc < 0 && op->done) /* as far as anybody was told, it went well */
        mgds_op_keep_error(op, op->line);
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
    if (error)
        op->got = 0;
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
    op->held = op->taker && !op->demanded && message->serial != 0;
    if (!op->held)
        try_pull(op);
    else if (op->taking)
        mgds_exchange_take(op);
}

void mgds_exchange_take(struct mgds_op *op)
{
    mgds_count(ring_takes);
    op->held = false;
    op->taken = op->moved = op->arrived = true;
    op->got = op->message->bytes < op->bytes ? op->message->bytes : op->bytes;
    mgds_op_finish(op, op->error);
}

void mgds_exchange_demand(struct mgds_op *op)
{
    if (op->send || op->taking || op->done)
        return;
    op->demanded = true;
    if (!op->held)
        return;
    op->held = false;
    try_pull(op);
}

void mgds_exchange_taken(struct mgds_op *op)
{
    const struct mgds_taken head = {.cookie = op->message->cookie};
    const struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_TAKEN, .head = &head, .head_bytes = sizeof(head)};

    post(op->domain->peer[op->message->rank], &message);
    mgds_op_leave_engine(op);
}

static void recv_reached(struct mgds_op *op)
{
    if (op->message && !op->held && !op->taken)
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

void mgds_exchange_meet(struct mgds_domain *domain, int rank)
{
    const struct mgds_tell head = {.domain = domain->id, .rank = domain->rank};
    const struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_HELLO, .head = &head, .head_bytes = sizeof(head)};

    if (rank < 0)
        mgds_exchange_subscribe(domain);
    if (rank < 0 || domain->met[rank])
        return;
    domain->met[rank] = true;
    post(domain->peer[rank], &message);
}

/* Bytes that did not come never will: its stream may stand for them. */
static void fail_take(struct mgds_op *op, int error)
{
    struct mgds_gstream *stream = op->line->stream;

    if (op->message->match.reached)
        return;
    mgds_domain_keep_error(op->domain, error);
    mgds_line_fail(op->line, error, op->name);
    mgds_gstream_fail(stream, error);
    mgds_gstream_abort(stream);
}

static void fail_recv(struct mgds_op *op, int error)
{
    if (op->match.posted)
        mgds_match_cancel(op->domain->match[op->index], &op->match);
    op->held = false;
    op->pulled = true;
    recv_moved(op, error);
}

void mgds_exchange_fail(struct mgds_op *op, int error)
{
    if (op->taken) {
        fail_take(op, error);
    } else if (op->send && !op->posted && !op->moved) {
        op->posted = true;
        send_moved(op, error);
    } else if (!op->send && !op->landing && !op->moved) {
        fail_recv(op, error);
    }
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
    if (domain->lost[rts->rank])
        return;
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
        .serial = rts->serial,
        .sync = rts->sync,
        .units = rts->units};
    if (mgds_match_arrive(domain->match[rts->to_index], &message->match) < 0) {
        mgds_warn_once("a message that came twice was dropped");
        free(message);
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

    if (!knows(domain, tell->rank, tell->index, tell->to_index) ||
        domain->lost[tell->rank])
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

    if (op->lost)
        return;
    op->asked = true;
    op->answer = pull->answer;
    op->wanted = pull->bytes;
    try_data(op);
    try_finish_send(op);
}

/* So the stream came to it, even if we do not see that yet. */
static void on_taken(const struct mgds_taken *taken)
{
    struct mgds_op *op = (struct mgds_op *)(uintptr_t)taken->cookie;

    if (op->lost)
        return;
    mgds_landing_give(op->lane, &op->place);
    op->lane = NULL;
    send_moved(op, 0);
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
    recv_moved(op, rc);
    mgds_engine_leave();
}

/* False: nobody waits for it any more. */
static bool begin_landing(struct mgds_op *op, size_t body_bytes, int error)
{
    bool wanted;

    mgds_engine_enter();
    wanted = !op->lost;
    if (wanted && body_bytes == 0)
        recv_moved(op, error);
    else
        op->landing = wanted;
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
        MGDS_ENVELOPE_RTS,       MGDS_ENVELOPE_PULL,  MGDS_ENVELOPE_REACHED,
        MGDS_ENVELOPE_SUBSCRIBE, MGDS_ENVELOPE_TAKEN, MGDS_ENVELOPE_HELLO};
    struct mgds_wire_handler handler = {take_data, data_landed, NULL};

    mgds_wire_handle(MGDS_ENVELOPE_DATA, &handler);
    handler.head = take_envelope;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        handler.ctx = (void *)(uintptr_t)kinds[i];
        mgds_wire_handle(kinds[i], &handler);
    }
}
