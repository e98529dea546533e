/* Streams that cannot go on; see ruin.h. */
#include "shim/gds/msg/ruin.h"

#include <errno.h>

#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/gds/msg/debt.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/comm/lost.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/wire/wire.h"

/* From one look at the context of a stream that does not move to the next, ns.
 */
enum { CHECK_NS = 10000000 };

static void ruin_timeline(struct mgds_timeline *timeline, int error)
{
    if (timeline->ruin.ruined)
        return;
    errno = -error;
    mgds_warn("a stream of an MPIX_Stream cannot go on: all that is under way "
              "on it, and every later operation, fails: %m");
    __atomic_store_n(&timeline->ruin.ruined, error, __ATOMIC_RELAXED);
    mgds_gstream_fail(timeline->stream, error);
    mgds_debt_add(&timeline->owed, error, 0, NULL);
    mgds_gstream_abort(timeline->stream);
    mgds_lost_timeline(timeline, error);
}

static bool is_to_check(const struct mgds_timeline *timeline, uint64_t now)
{
    return timeline->first && !timeline->ruin.ruined && now >= timeline->check;
}

static struct mgds_timeline *find_to_check(void)
{
    uint64_t now = mgds_clock_ns();
    struct mgds_timeline *timeline = mgds_timelines_first();

    while (timeline && !is_to_check(timeline, now))
        timeline = timeline->next;
    return timeline;
}

bool mgds_timelines_to_check(void)
{
    bool any;

    mgds_engine_enter();
    any = find_to_check() != NULL;
    mgds_engine_leave();
    return any;
}

/* The stream of one that was not checked lately, with a reference; or NULL. */
static struct mgds_gstream *take_to_check(void)
{
    struct mgds_timeline *timeline = find_to_check();

    if (!timeline)
        return NULL;
    timeline->check = mgds_clock_ns() + CHECK_NS;
    return mgds_gstream_get(timeline->stream);
}

/* Whether something enqueued there has not ended for whoever called it. */
static bool has_work(const struct mgds_timeline *timeline)
{
    const struct mgds_comm *comm;
    const struct mgds_op *op;

    LIST_FOREACH(comm, mgds_comms_all(), link)
    {
        LIST_FOREACH(op, &comm->ops, link)
        {
            if (op->timeline == timeline && !mgds_op_is_done(op))
                return true;
        }
    }
    return false;
}

/* Nothing of a context that is broken comes to anything any more, whatever was
 * put there: as if its stream had come to all of it. A program may destroy its
 * context when all that it waited for is there. */
static void give_up(struct mgds_timeline *timeline, int error)
{
    if (error != -ESHUTDOWN || has_work(timeline))
        ruin_timeline(timeline, error);
    mgds_signals_tell(&timeline->signals, timeline->fences);
}

/* One at most: those who wait come again. */
void mgds_timelines_check(void)
{
    struct mgds_gstream *stream;
    struct mgds_timeline *timeline;
    int rc;

    mgds_engine_enter();
    stream = take_to_check();
    mgds_engine_leave();
    if (!stream)
        return;
    rc = mgds_gstream_check(stream);
    if (rc < 0) {
        mgds_engine_enter();
        timeline = mgds_timelines_find(stream);
        if (timeline)
            give_up(timeline, rc);
        mgds_engine_leave();
    }
    mgds_gstream_release(stream);
}

/* In the next round, since whoever dooms a stream is in the midst of what is on
 * it. */
static bool run_ruin(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_timeline *timeline =
        MGDS_CONTAINER_OF(work, struct mgds_timeline, ruin.work);

    (void)by;
    mgds_work_done(work);
    ruin_timeline(timeline, timeline->ruin.doomed);
    return true;
}

void mgds_ruin_init(void)
{
    static const struct mgds_work_handler handler = {.run = run_ruin};

    mgds_work_handle(MGDS_WORK_RUIN, &handler);
}
