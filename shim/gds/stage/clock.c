/* Tickets and marks; see clock.h. */
#include "shim/gds/stage/clock.h"

#include <errno.h>

#include "shim/base/fault.h"
#include "shim/gds/cuda/stream.h"

int mgds_clock_init(struct mgds_clock *clock, struct mgds_context *ctx,
                    void *stream)
{
    int made = 0;
    int rc = mgds_lock_init(&clock->lock, MGDS_LOCK_LEAF);

    if (rc < 0)
        return rc;
    while (rc == 0 && made < MGDS_CLOCK_MARKS) {
        rc = mgds_event_init(&clock->mark[made].event, ctx);
        made += rc == 0;
    }
    if (rc < 0)
        goto fini_events;
    clock->done = clock->queued = clock->asks = MGDS_COUNT_FROM;
    clock->ctx = ctx;
    clock->stream = stream;
    return 0;
fini_events:
    while (made > 0)
        mgds_event_fini(&clock->mark[--made].event);
    mgds_lock_fini(&clock->lock);
    return rc;
}

void mgds_clock_fini(struct mgds_clock *clock)
{
    for (int i = 0; i < MGDS_CLOCK_MARKS; i++)
        mgds_event_fini(&clock->mark[i].event);
    mgds_lock_fini(&clock->lock);
}

uint64_t mgds_clock_ticket(struct mgds_clock *clock)
{
    uint64_t ticket;

    mgds_lock_acquire(&clock->lock);
    ticket = ++clock->queued;
    mgds_lock_release(&clock->lock);
    return ticket;
}

static uint64_t done_of(struct mgds_clock *clock)
{
    return __atomic_load_n(&clock->done, __ATOMIC_ACQUIRE);
}

static void advance(struct mgds_clock *clock, uint64_t ticket)
{
    mgds_lock_acquire(&clock->lock);
    if (ticket > clock->done) {
        /* Release: who sees it may use the memory that was copied from. */
        __atomic_store_n(&clock->done, ticket, __ATOMIC_RELEASE);
        __atomic_store_n(&clock->news, 0, __ATOMIC_RELAXED);
    }
    mgds_lock_release(&clock->lock);
}

static bool in_use(const struct mgds_clock *clock,
                   const struct mgds_clock_mark *mark)
{
    return mark->recording || mark->ticket > clock->done;
}

/* A free mark for all that is queued, or NULL: there is one, or none is free.
 */
static struct mgds_clock_mark *reserve(struct mgds_clock *clock)
{
    struct mgds_clock_mark *found = NULL;
    bool marked = clock->queued <= clock->done;

    for (int i = 0; i < MGDS_CLOCK_MARKS; i++) {
        struct mgds_clock_mark *mark = &clock->mark[i];

        if (!in_use(clock, mark))
            found = mark;
        else if (mark->ticket >= clock->queued)
            marked = true;
    }
    if (marked || !found)
        return NULL;
    found->ticket = clock->queued;
    found->recording = true;
    return found;
}

int mgds_clock_mark(struct mgds_clock *clock)
{
    struct mgds_clock_mark *mark;
    int rc;

    mgds_lock_acquire(&clock->lock);
    mark = reserve(clock);
    mgds_lock_release(&clock->lock);
    if (!mark)
        return 0;
    rc = mgds_event_record(&mark->event, clock->stream);
    mgds_lock_acquire(&clock->lock);
    mark->recording = false;
    if (rc < 0)
        mark->ticket = 0;
    mgds_lock_release(&clock->lock);
    return rc;
}

/* The oldest mark that may be asked for, or NULL, and its ticket. */
static struct mgds_clock_mark *oldest(struct mgds_clock *clock,
                                      uint64_t *ticket)
{
    struct mgds_clock_mark *found = NULL;

    mgds_lock_acquire(&clock->lock);
    for (int i = 0; i < MGDS_CLOCK_MARKS; i++) {
        struct mgds_clock_mark *mark = &clock->mark[i];

        if (in_use(clock, mark) && !mark->recording &&
            (!found || mark->ticket < found->ticket))
            found = mark;
    }
    *ticket = found ? found->ticket : 0;
    mgds_lock_release(&clock->lock);
    return found;
}

static bool is_marked(struct mgds_clock *clock)
{
    bool marked = false;

    mgds_lock_acquire(&clock->lock);
    for (int i = 0; i < MGDS_CLOCK_MARKS; i++)
        marked |= in_use(clock, &clock->mark[i]);
    mgds_lock_release(&clock->lock);
    return marked;
}

static uint64_t queued_of(struct mgds_clock *clock)
{
    uint64_t queued;

    mgds_lock_acquire(&clock->lock);
    queued = clock->queued;
    mgds_lock_release(&clock->lock);
    return queued;
}

/* True if the last answer is still news to the asker: not yet. */
static bool is_told(struct mgds_clock *clock, uint64_t *told)
{
    uint64_t news = __atomic_load_n(&clock->news, __ATOMIC_RELAXED);

    if (news == 0 || news == *told)
        return false;
    *told = news;
    return true;
}

static void note_waiting(struct mgds_clock *clock, uint64_t *told)
{
    mgds_lock_acquire(&clock->lock);
    __atomic_store_n(&clock->news, ++clock->asks, __ATOMIC_RELAXED);
    if (told)
        *told = clock->asks;
    mgds_lock_release(&clock->lock);
}

/* The stream says the same of all that is queued without a mark. */
static int ask_stream(struct mgds_clock *clock)
{
    uint64_t queued = queued_of(clock);
    int rc = mgds_stream_query(clock->stream);

    if (rc == 1)
        advance(clock, queued);
    return rc;
}

static int ask_mark(struct mgds_clock *clock)
{
    struct mgds_clock_mark *mark;
    uint64_t covers;
    int rc = mgds_clock_mark(clock);

    if (rc < 0)
        return rc;
    mark = oldest(clock, &covers);
    rc = mark ? mgds_event_query(&mark->event) : 0;
    if (rc == 1)
        advance(clock, covers);
    return rc;
}

/* The oldest mark and those behind it, as far as they are over. */
int mgds_clock_glance(struct mgds_clock *clock, uint64_t ticket)
{
    int rc = 1;

    while (rc == 1 && done_of(clock) < ticket) {
        bool lone = queued_of(clock) == ticket && !is_marked(clock);

        rc = lone ? ask_stream(clock) : ask_mark(clock);
    }
    return rc;
}

int mgds_clock_poll(struct mgds_clock *clock, uint64_t ticket, uint64_t *told)
{
    int rc;

    if (done_of(clock) >= ticket)
        return 1;
    if (told && is_told(clock, told))
        return 0;
    /* The events go with their context: the driver must not see them again. */
    if (!mgds_context_lives(clock->ctx))
        return -ESHUTDOWN;
    mgds_capture_ignore();
    rc = mgds_clock_glance(clock, ticket);
    mgds_capture_heed();
    if (rc == 0)
        note_waiting(clock, told);
    return rc;
}

int mgds_clock_sleep(struct mgds_clock *clock, uint64_t ticket)
{
    int rc = 0;

    mgds_capture_ignore();
    while (rc == 0 && done_of(clock) < ticket) {
        struct mgds_clock_mark *mark;
        uint64_t covers;

        rc = mgds_clock_mark(clock);
        if (rc < 0)
            break;
        mark = oldest(clock, &covers);
        rc = mark ? mgds_event_synchronize(&mark->event) : 0;
        if (rc == 0 && mark)
            advance(clock, covers);
    }
    mgds_capture_heed();
    return rc;
}
