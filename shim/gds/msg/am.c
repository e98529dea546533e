/* Active messages; see am.h. */
#include "shim/gds/msg/am.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/msg/engine.h"

/* An envelope that came early. */
struct early {
    STAILQ_ENTRY(early) link;
    struct mgds_am am;
};
STAILQ_HEAD(early_list, early);

/* Under the engine's lock. */
static struct early_list kept = STAILQ_HEAD_INITIALIZER(kept);

/* Written before the wire is open. */
static mgds_am_handler *handlers[MGDS_ENVELOPES];

static void keep_early(const struct mgds_am *am)
{
    struct early *item = (struct early *)mgds_calloc(1, sizeof(*item));

    if (!item) {
        mgds_warn("no memory for a message that came early: it is lost");
        return;
    }
    item->am = *am;
    STAILQ_INSERT_TAIL(&kept, item, link);
}

/* Those of the RTS's communicator that speak of a message. */
static bool any_waits_for(const struct mgds_rts *rts)
{
    const struct early *item;

    STAILQ_FOREACH(item, &kept, link)
    {
        if (mgds_envelope_needs_rts(item->am.kind) &&
            mgds_envelope_comm(item->am.kind, &item->am.head) == rts->comm)
            return true;
    }
    return false;
}

/* True if a replay is due. */
static bool handle_am(const struct mgds_am *am)
{
    if (handlers[am->kind](am) == MGDS_AM_DONE)
        return am->kind == MGDS_ENVELOPE_RTS && any_waits_for(&am->head.rts);
    keep_early(am);
    return false;
}

static bool replay_once(void)
{
    struct early_list items = STAILQ_HEAD_INITIALIZER(items);
    struct early *item;
    bool again = false;

    STAILQ_CONCAT(&items, &kept);
    while ((item = STAILQ_FIRST(&items)) != NULL) {
        STAILQ_REMOVE_HEAD(&items, link);
        again |= handle_am(&item->am);
        free(item);
    }
    return again;
}

/* That comes to an end: an RTS is done once. */
void mgds_am_replay(void)
{
    bool again;

    do
        again = replay_once();
    while (again);
}

void mgds_am_forget(void)
{
    struct early *item;

    while ((item = STAILQ_FIRST(&kept)) != NULL) {
        STAILQ_REMOVE_HEAD(&kept, link);
        free(item);
    }
}

static int take_arrival(void *ctx, struct mgds_wire_arrival *arrival)
{
    struct mgds_am am = {.kind = (enum mgds_envelope)(uintptr_t)ctx,
                         .from = arrival->from};

    if (mgds_envelope_open(&am.head, am.kind, arrival->head,
                           arrival->head_bytes, arrival->body_bytes) < 0)
        return -EPROTO;
    mgds_engine_enter();
    if (handle_am(&am))
        mgds_am_replay();
    mgds_engine_leave();
    return -ENOSYS; /* no body is due */
}

void mgds_am_handle(enum mgds_envelope kind, mgds_am_handler *handler)
{
    const struct mgds_wire_handler row = {take_arrival, NULL,
                                          (void *)(uintptr_t)kind};

    handlers[kind] = handler;
    mgds_wire_handle(kind, &row);
}

/* Lost peers, and the wire's end, are told otherwise. */
static void end_of_post(void *arg, int rc)
{
    struct mgds_wire_peer *peer = (struct mgds_wire_peer *)arg;

    if (rc < 0 && rc != -ECANCELED && mgds_wire_peer_error(peer) == 0)
        mgds_wire_peer_give_up(peer);
}

int mgds_am_post(struct mgds_wire_peer *peer,
                 const struct mgds_wire_message *message)
{
    struct mgds_wire_message told = *message;
    int rc;

    if (!told.done) {
        told.done = end_of_post;
        told.arg = peer;
    }
    rc = mgds_wire_post(peer, &told);
    /* the worker ends behind the wire, with what it was at */
    if (rc < 0 && rc != -ENOTCONN) {
        errno = -rc;
        mgds_warn_once("a message to another process cannot be posted: %m");
    }
    return rc;
}

int mgds_am_tell(struct mgds_wire_peer *peer, enum mgds_envelope kind,
                 const void *head, size_t bytes)
{
    const struct mgds_wire_message message = {
        .kind = kind, .head = head, .head_bytes = bytes};

    return mgds_am_post(peer, &message);
}
