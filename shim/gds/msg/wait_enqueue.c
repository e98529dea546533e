/* Waits in streams, as they are called; see comm.h, wait.h and timeline.h. */
#include <errno.h>

#include "shim/gds/comm/group.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/mem/bounce.h"

/* A copy up that a caller began must be over before the stream goes on. */
static void settle_lifts(struct mgds_op *const ops[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (ops[i]->caller->lifting)
            mgds_bounce_wait(ops[i]->bounce, NULL);
}

/* Copies up need a bounce, and a way for the stream to the buffer. */
static int check_op(const struct mgds_op *op,
                    const struct mgds_timeline *timeline)
{
    if (op->send || !op->bounce || op->timeline == timeline ||
        op->caller->lifting)
        return 0;
    if (!op->recv->words)
        return -EXDEV;
    if (mgds_op_is_lean(op) || mgds_op_is_lifted(op))
        return 0;
    return mgds_gstream_adopt(timeline->stream, op->bounce);
}

/* A wait for nothing, but its fence is signalled. */
void mgds_wait_signal(struct mgds_gstream *stream)
{
    struct mgds_wait *wait = mgds_wait_create(0);
    struct mgds_timeline *timeline;
    struct mgds_put put;

    if (!wait)
        return;
    mgds_engine_enter();
    timeline = mgds_timeline_find_deferred(stream);
    if (timeline) {
        wait->signalled = true;
        mgds_put_begin(&put, timeline);
        mgds_put_wait(&put, wait);
        mgds_put_close(&put);
    }
    mgds_engine_leave();
    if (timeline)
        mgds_put_all(&put);
    else
        mgds_wait_free(wait);
}

/* Takes the lock. -EBUSY: what is waited for comes behind the wait. */
static int enter_to_wait(const struct mgds_timeline *timeline, unsigned count,
                         struct mgds_op *const ops[])
    MGDS_ACQUIRE(mgds_engine_lock)
{
    mgds_engine_enter();
    for (unsigned i = 0; i < count; i++)
        if (mgds_group_is_elsewhere(ops[i], timeline->stream))
            return -EBUSY;
    return 0;
}

int mgds_op_wait_enqueue(struct mgds_gstream *stream, unsigned count,
                         struct mgds_op *const ops[],
                         const struct mgds_op_sink sinks[])
{
    struct mgds_put own, *put;
    struct mgds_timeline *timeline;
    int rc = mgds_timeline_of(&timeline, stream);

    for (unsigned i = 0; i < count && rc == 0; i++)
        rc = check_op(ops[i], timeline);
    if (rc < 0)
        return rc;
    put = mgds_group_put(&own, timeline, 0, count);
    if (!put)
        return -ENOMEM;
    settle_lifts(ops, count);
    rc = enter_to_wait(timeline, count, ops);
    if (rc == 0) {
        mgds_group_wait(put, count, ops, sinks);
        mgds_group_close(put, &own);
    }
    mgds_engine_leave();
    if (rc == 0)
        mgds_group_queue(put, &own);
    else
        mgds_group_undo(put, &own);
    return rc;
}
