/* Bounces get memory; see room.h. */
#include "shim/gds/domain/room.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/domain/means.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/queue/words.h"

struct room {
    struct mgds_work work;
    struct mgds_op *op; /* a reference */
    uint64_t since;     /* ns */
};

static uint64_t given; /* when somebody got some last: written under that lock,
                          atomic */

/* Written before the wire is open. */
static mgds_has_room *has_room;

void mgds_room_add(struct mgds_op *op)
{
    struct room *room;

    if (op->recv->loan.waits)
        return;
    room = (struct room *)mgds_calloc(1, sizeof(*room));
    if (!room) {
        has_room(op, -ENOMEM);
        return;
    }
    op->recv->loan.waits = true;
    *room = (struct room){.op = mgds_op_get(op), .since = mgds_clock_ns()};
    mgds_work_add(&room->work, MGDS_WORK_MEMORY);
}

/* Not what has come already, to where it belongs. */
static bool keep(struct mgds_op *op)
{
    bool needs;

    mgds_engine_enter();
    op->recv->loan.kept = !mgds_op_is_done(op) || !op->recv->direct;
    needs = op->recv->loan.kept && mgds_bounce_needs_room(op->bounce);
    mgds_engine_leave();
    return needs;
}

int mgds_room_make(struct mgds_op *op)
{
    struct mgds_piece *piece;
    int rc;

    if (!keep(op))
        return 0;
    rc = mgds_bounce_take_room(&piece, op->bounce, op->call->bytes,
                               MGDS_POOL_HELD);
    if (rc < 0)
        return rc;
    mgds_engine_enter();
    mgds_bounce_give_room(op->bounce, piece);
    if (op->recv->loan.waits)
        has_room(op, 0);
    mgds_engine_leave();
    return 0;
}

int mgds_room_explain(int rc)
{
    if (rc == -ENOMEM)
        mgds_warn_once("an operation on a stream needs pinned memory and could "
                       "not get it: MPIX_GDS_STAGE_POOL allows more");
    return rc;
}

/* Those that have the memory are under way, and give it back. One that needs
 * less may have its turn before. */
static bool may_try_again(const struct room *room, int rc)
{
    uint64_t since = given > room->since ? given : room->since;

    return rc == -ENOMEM && room->op->state == MGDS_OP_WANTED &&
           mgds_clock_ns() < since + MGDS_MEANS_PATIENCE_NS;
}

/* What is lent. */
struct loan {
    uint64_t *unit;
    struct mgds_piece *piece;
};

static void end(struct room *room, const struct loan *loan, int rc)
{
    struct mgds_op *op = room->op;

    op->recv->loan.waits = false;
    op->recv->loan.unit = loan->unit;
    if (rc == 0) {
        mgds_bounce_give_room(op->bounce, loan->piece);
        __atomic_store_n(&given, mgds_clock_ns(), __ATOMIC_RELAXED);
        mgds_count(stage_lent);
    }
    if (mgds_op_is_moved(op) && !op->recv->loan.kept)
        mgds_bounce_drop_room(op->bounce);
    has_room(op, mgds_room_explain(rc));
    mgds_op_put_later(op);
    free(room);
}

/* Without the lock. */
static int prepare(struct loan *loan, const struct mgds_op *op)
{
    struct mgds_words *words = mgds_gstream_words(op->stream);
    int rc = mgds_words_take(&loan->unit, words);

    if (rc < 0)
        return rc;
    loan->unit[MGDS_ROOM_SERIAL] = 1;
    rc = mgds_bounce_take_room(&loan->piece, op->bounce, mgds_op_fitting(op),
                               MGDS_POOL_LENT);
    if (rc < 0) {
        mgds_words_give(words, loan->unit);
        loan->unit = NULL;
    }
    return rc;
}

/* False: there is none at the moment, most likely for the others neither. */
static bool run(struct mgds_work *work, enum mgds_work_by by)
{
    struct room *room = MGDS_CONTAINER_OF(work, struct room, work);
    struct loan loan = {.unit = NULL};
    int rc = prepare(&loan, room->op);
    bool again;

    (void)by;
    mgds_engine_enter();
    again = may_try_again(room, rc);
    if (again) {
        mgds_work_again(work);
    } else {
        mgds_work_done(work);
        end(room, &loan, rc);
    }
    mgds_engine_leave();
    return !again;
}

uint64_t mgds_rooms_given(void)
{
    return __atomic_load_n(&given, __ATOMIC_RELAXED);
}

static void drop(struct mgds_work *work)
{
    free(MGDS_CONTAINER_OF(work, struct room, work));
}

void mgds_room_init(mgds_has_room *told)
{
    static const struct mgds_work_handler handler = {run, drop};

    has_room = told;
    mgds_work_handle(MGDS_WORK_MEMORY, &handler);
}
