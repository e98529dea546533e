/* Bounces get memory; see room.h. */
#include "shim/gds/domain/room.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/launcher.h"
#include "shim/gds/domain/means.h"

/* How long host calls have before the thread does it, ns. */
enum { GRACE_NS = 200000 };

struct room {
    struct room *next;
    struct mgds_op *op; /* a reference */
    uint64_t since;
};

static struct room *rooms, **last = &rooms; /* under the engine's lock */
static unsigned count;                      /* atomic */

void mgds_room_add(struct mgds_op *op)
{
    struct room *room;

    if (op->rooming)
        return;
    room = (struct room *)mgds_calloc(1, sizeof(*room));
    if (!room) {
        mgds_exchange_has_room(op, -ENOMEM);
        return;
    }
    op->rooming = true;
    *room = (struct room){.op = mgds_op_get(op), .since = mgds_clock_ns()};
    *last = room;
    last = &room->next;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    mgds_wire_hold();
}

/* Under the engine's lock. */
static bool is_late(const struct room *room)
{
    return mgds_clock_ns() - room->since > GRACE_NS;
}

static struct room *take(bool host)
{
    struct room *room = rooms;

    if (!room || (!host && !is_late(room)))
        return NULL;
    rooms = room->next;
    if (!rooms)
        last = &rooms;
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    mgds_wire_release();
    return room;
}

int mgds_room_make(struct mgds_op *op)
{
    struct mgds_piece *piece;
    int rc = mgds_bounce_take_room(&piece, op->bounce);

    if (rc < 0)
        return rc;
    mgds_engine_enter();
    mgds_bounce_give_room(op->bounce, piece);
    mgds_engine_leave();
    return 0;
}

static void serve(const struct room *room)
{
    struct mgds_op *op = room->op;
    int rc = mgds_room_make(op);

    mgds_engine_enter();
    op->rooming = false;
    mgds_exchange_has_room(op, mgds_means_explain(rc));
    mgds_engine_put_later(op);
    mgds_engine_leave();
}

void mgds_rooms_run(bool host)
{
    while (__atomic_load_n(&count, __ATOMIC_RELAXED) > 0) {
        struct room *room;

        mgds_engine_enter();
        room = take(host);
        mgds_engine_leave();
        if (!room)
            return;
        serve(room);
        free(room);
    }
}

void mgds_rooms_chore(void)
{
    bool late;

    if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0)
        return;
    mgds_engine_enter();
    late = rooms && is_late(rooms);
    mgds_engine_leave();
    if (late)
        mgds_launcher_call(mgds_last_resort);
}

void mgds_rooms_fini(void)
{
    struct room *room;

    do {
        mgds_engine_enter();
        room = take(true);
        mgds_engine_leave();
        free(room);
    } while (room);
}
