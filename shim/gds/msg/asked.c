/* Fences that are asked about; see asked.h. */
#include "shim/gds/msg/asked.h"

#include "shim/base/container.h"
#include "shim/gds/msg/timeline.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/stream/gstream.h"

void mgds_asked_add(struct mgds_timeline *timeline, uint64_t number)
{
    __atomic_store_n(&timeline->asked.last, number, __ATOMIC_RELAXED);
    if (!mgds_work_is_listed(&timeline->asked.work))
        mgds_work_add(&timeline->asked.work, MGDS_WORK_ASK);
}

/* The first fence that was not reached, if it may be one to ask for; else 0. */
static uint64_t first_of(const struct mgds_timeline *timeline)
{
    uint64_t awaited = __atomic_load_n(&timeline->awaited, __ATOMIC_RELAXED);

    return awaited && mgds_asked_any(&timeline->asked, awaited - 1)
               ? awaited - 1
               : 0;
}

/* Others may have asked later, and been told sooner. */
void mgds_asked_see(struct mgds_asked *asked, uint64_t number)
{
    uint64_t seen = __atomic_load_n(&asked->seen, __ATOMIC_RELAXED);

    /* what the driver, or the stream, has said, for who acts on it */
    while (seen < number &&
           !__atomic_compare_exchange_n(&asked->seen, &seen, number, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static void ask_timeline(struct mgds_timeline *timeline)
{
    uint64_t first = first_of(timeline);

    if (first && !mgds_asked_is_seen(&timeline->asked, first))
        mgds_asked_see(&timeline->asked,
                       mgds_gstream_come(timeline->stream, first));
}

/* Each timeline that has such fences has an item, unless that is being done:
 * then it is asked for. */
void mgds_timelines_ask(void)
{
    if (!mgds_works_any(MGDS_WORK_ASK))
        return;
    for (struct mgds_timeline *timeline = mgds_timelines_begin_to_read();
         timeline; timeline = mgds_timelines_read_on(timeline))
        ask_timeline(timeline);
    mgds_timelines_end_to_read();
}

/* What has come is found by the next round. */
static bool run_ask(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_timeline *timeline =
        MGDS_CONTAINER_OF(work, struct mgds_timeline, asked.work);

    (void)by;
    ask_timeline(timeline);
    mgds_engine_enter();
    if (first_of(timeline))
        mgds_work_again(work);
    else
        mgds_work_done(work);
    mgds_engine_leave();
    return true;
}

void mgds_asked_init(void)
{
    static const struct mgds_work_handler handler = {.run = run_ask};

    mgds_work_handle(MGDS_WORK_ASK, &handler);
}
