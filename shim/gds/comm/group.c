/* Groups of a thread; see group.h and comm.h. */
#include "shim/gds/comm/group.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/base/perthread.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/stream/gstream.h"

MGDS_TLS struct mgds_group *mgds_groups_open;

/* Of a thread: its list, for who ends MPI, and a record for the next group. */
struct keep {
    struct mgds_group *open; /* atomic */
    struct mgds_group *idle;
};

static struct mgds_perthread keeps;
static pthread_once_t keeps_once = PTHREAD_ONCE_INIT;
static bool keeps_made; /* atomic: a group was ever started */

struct mgds_group *mgds_group_search(const struct mgds_gstream *stream)
{
    struct mgds_group *group = mgds_groups_open;

    while (group && group->stream != stream)
        group = group->next;
    return group;
}

static void destroy_group(struct mgds_group *group)
{
    if (!group)
        return;
    mgds_put_fini(&group->put);
    free(group);
}

/* Puts what was collected. */
static int flush_group(struct mgds_group *group)
{
    if (mgds_put_is_empty(&group->put))
        return 0;
    mgds_engine_enter();
    mgds_put_close(&group->put);
    mgds_engine_leave();
    return mgds_put_all(&group->put);
}

static void drop_group(struct mgds_group *group, int error)
{
    mgds_engine_enter();
    mgds_put_close(&group->put);
    mgds_engine_leave();
    mgds_put_drop(&group->put, error);
}

/* The list is the thread's own; who ends MPI reads it when no thread may call
 * MPI. */
static void set_open(struct keep *keep, struct mgds_group *group)
{
    mgds_groups_open = group;
    __atomic_store_n(&keep->open, group, __ATOMIC_RELEASE);
}

static void take_out(struct keep *keep, struct mgds_group *group)
{
    struct mgds_group **at = &mgds_groups_open;

    while (*at != group)
        at = &(*at)->next;
    *at = group->next;
    set_open(keep, mgds_groups_open);
}

static void close_group(struct keep *keep, struct mgds_group *group)
{
    take_out(keep, group);
    if (group->stream)
        mgds_gstream_release(group->stream);
    destroy_group(keep->idle);
    keep->idle = group;
}

/* Nothing can be put on a stream that is being captured: it would run with each
 * launch of the graph. */
static int flush_or_drop(struct mgds_group *group)
{
    if (mgds_put_is_empty(&group->put) ||
        mgds_gstream_capturing(group->stream) == 0)
        return flush_group(group);
    drop_group(group, -ECANCELED);
    return -ECANCELED;
}

/* The program did not end the group. */
static void end_open(struct mgds_group *group, const char *who)
{
    unsigned left = group->put.ops;

    if (left == 0 && mgds_put_is_empty(&group->put))
        mgds_warn("%s with a group open on the stream 0x%" PRIx64
                  ": call MPIX_Stream_group_end",
                  who, mgds_gstream_name(group->stream));
    else
        mgds_warn("%s with a group open on the stream 0x%" PRIx64
                  ", whose %u operations go on the stream now: call "
                  "MPIX_Stream_group_end",
                  who, mgds_gstream_name(group->stream), left);
    flush_or_drop(group);
}

/* The thread ends. */
static void leave_groups(void *block)
{
    struct keep *keep = (struct keep *)block;

    while (mgds_groups_open) {
        struct mgds_group *group = mgds_groups_open;

        if (group->stream)
            end_open(group, "a thread ends");
        close_group(keep, group);
    }
    destroy_group(keep->idle);
    keep->idle = NULL;
    mgds_perthread_put(block);
}

static void make_keeps(void)
{
    int rc = mgds_perthread_init(&keeps, sizeof(struct keep), leave_groups);

    __atomic_store_n(&keeps_made, rc == 0, __ATOMIC_RELEASE);
}

static bool any_keeps(void)
{
    return __atomic_load_n(&keeps_made, __ATOMIC_ACQUIRE);
}

/* NULL: there is no memory for it. */
static struct keep *own_keep(void)
{
    pthread_once(&keeps_once, make_keeps);
    return any_keeps() ? (struct keep *)mgds_perthread_get(&keeps) : NULL;
}

static struct mgds_group *create_group(struct keep *keep)
{
    struct mgds_group *group = keep->idle;

    keep->idle = NULL;
    if (group)
        return group;
    group = (struct mgds_group *)mgds_calloc(1, sizeof(*group));
    if (group)
        mgds_put_begin(&group->put, NULL);
    return group;
}

static int open_group(struct mgds_group **out, struct mgds_gstream *stream)
{
    struct keep *keep = own_keep();
    struct mgds_group *group;
    struct mgds_timeline *timeline;
    int rc = mgds_timeline_of(&timeline, stream);

    if (rc < 0)
        return rc;
    group = keep ? create_group(keep) : NULL;
    if (!group)
        return -ENOMEM;
    group->stream = mgds_gstream_get(stream);
    group->depth = group->strict = 0;
    group->put.timeline = timeline;
    group->put.late = true;
    group->next = mgds_groups_open;
    set_open(keep, group);
    *out = group;
    return 0;
}

int mgds_group_start(struct mgds_gstream *stream, bool strict)
{
    struct mgds_group *group = mgds_group_of(stream);
    int rc = group ? 0 : open_group(&group, stream);

    if (rc < 0)
        return rc;
    group->depth++;
    group->strict += strict;
    return 0;
}

int mgds_group_end(struct mgds_gstream *stream, bool strict)
{
    struct mgds_group *group = mgds_group_of(stream);
    int rc;

    if (!group || (strict && group->strict == 0))
        return -ENOENT;
    group->strict -= strict;
    if (--group->depth > 0)
        return 0;
    rc = flush_group(group);
    close_group(own_keep(), group);
    return rc;
}

void mgds_group_leave(struct mgds_gstream *stream)
{
    struct mgds_group *group = mgds_group_of(stream);

    if (!group)
        return;
    flush_or_drop(group);
    close_group(own_keep(), group);
}

bool mgds_group_is_open(const struct mgds_gstream *stream)
{
    const struct mgds_group *group = mgds_group_of(stream);

    return group && group->strict > 0;
}

void mgds_groups_flush(void)
{
    for (struct mgds_group *group = mgds_groups_open; group;
         group = group->next)
        if (!mgds_put_is_empty(&group->put) &&
            mgds_gstream_capturing(group->stream) == 0)
            flush_group(group);
}

void mgds_groups_relieve(void)
{
    for (struct mgds_group *group = mgds_groups_open; group;
         group = group->next)
        if (group->strict == 0)
            flush_group(group);
}

/* Of another thread, which may not call MPI any more, and finds that its group
 * is of no stream. */
static void take_over(struct mgds_group *group)
{
    for (; group; group = group->next) {
        if (!group->stream)
            continue;
        end_open(group, "MPI ends");
        mgds_gstream_release(group->stream);
        group->stream = NULL;
    }
}

void mgds_groups_fini(void)
{
    struct keep *keep = NULL;

    if (!any_keeps())
        return;
    while (mgds_groups_open) {
        if (mgds_groups_open->stream)
            end_open(mgds_groups_open, "MPI ends");
        close_group(own_keep(), mgds_groups_open);
    }
    while ((keep = (struct keep *)mgds_perthread_next(&keeps, keep)) != NULL)
        take_over(__atomic_load_n(&keep->open, __ATOMIC_ACQUIRE));
}

struct mgds_put *mgds_group_put(struct mgds_put *own,
                                struct mgds_timeline *timeline, unsigned ops,
                                unsigned waits)
{
    struct mgds_group *group = mgds_group_of(timeline->stream);
    struct mgds_put *put = group ? &group->put : own;

    if (!group)
        mgds_put_begin(own, timeline);
    if (mgds_put_widen(put, ops + waits) == 0 &&
        (waits == 0 || mgds_wait_widen(&put->wait, waits) == 0))
        return put;
    mgds_group_undo(put, own);
    return NULL;
}

void mgds_group_undo(struct mgds_put *put, const struct mgds_put *own)
{
    if (put->wait && put->wait->count == 0) {
        mgds_wait_free(put->wait);
        put->wait = NULL;
    }
    if (put == own)
        mgds_put_fini(put);
}

void mgds_group_op(struct mgds_put *put, const struct mgds_put *own,
                   struct mgds_op *op)
{
    if (put != own)
        op->queued->fence.group =
            MGDS_CONTAINER_OF(put, struct mgds_group, put);
    mgds_put_op(put, op);
}

void mgds_group_wait(struct mgds_put *put, unsigned count,
                     struct mgds_op *const ops[],
                     const struct mgds_op_sink sinks[])
{
    mgds_wait_hold(put->wait, count, ops, sinks);
}

void mgds_group_close(struct mgds_put *put, const struct mgds_put *own)
{
    if (put == own)
        mgds_put_close(put);
}

void mgds_group_queue(struct mgds_put *put, const struct mgds_put *own)
{
    if (put != own)
        return;
    mgds_put_all(put);
    mgds_put_fini(put);
}

bool mgds_group_is_elsewhere(const struct mgds_op *op,
                             const struct mgds_gstream *stream)
{
    const struct mgds_group *group =
        op->queued ? op->queued->fence.group : NULL;

    return group && group->stream == stream && group != mgds_group_of(stream);
}

static bool has_slot(const struct mgds_fence *fence,
                     const struct mgds_channel *channel)
{
    const struct mgds_op *op =
        MGDS_CONTAINER_OF(fence, const struct mgds_op_queued, fence)->op;

    return op->ring && op->ring->channel == channel;
}

static unsigned held_slots(const struct mgds_group *group,
                           const struct mgds_channel *channel)
{
    const struct mgds_fence *fence = group->put.first;
    unsigned held = 0;

    for (unsigned i = 0; i < group->put.ops; i++, fence = fence->next)
        held += has_slot(fence, channel);
    return held;
}

unsigned mgds_groups_hold(const struct mgds_channel *channel)
{
    unsigned held = 0;

    for (const struct mgds_group *group = mgds_groups_open; group;
         group = group->next)
        if (group->strict > 0)
            held += held_slots(group, channel);
    return held;
}
