/* Events that stand for FLAGs; see events.h. */
#include "shim/gds/stream/events.h"

#include <errno.h>

/* So many are asked about one by one, before the last one is again. */
enum { STEPS = 4 };

void mgds_events_fini(struct mgds_events *events)
{
    while (events->made > 0)
        mgds_event_fini(&events->event[--events->made]);
}

/* Captures are ignored: a query may end that of another stream. */
static bool has_come(struct mgds_event *event)
{
    return mgds_event_query(event) == 1;
}

static uint64_t value_of(const struct mgds_events *events, unsigned i)
{
    return __atomic_load_n(&events->value[i], __ATOMIC_ACQUIRE);
}

/* One more, the last; negative: it cannot be had. */
static int make_event(struct mgds_events *events, struct mgds_context *ctx)
{
    unsigned i = events->made;
    int rc;

    if (i == MGDS_EVENTS)
        return -EAGAIN;
    rc = mgds_event_init_asked(&events->event[i], ctx);
    if (rc < 0)
        return rc;
    /* the event, for who asks */
    __atomic_store_n(&events->made, i + 1, __ATOMIC_RELEASE);
    return (int)i;
}

/* What it has stood for is remembered, unless it is known already. */
static bool may_be_used(struct mgds_events *events, unsigned i, uint64_t past)
{
    uint64_t value = value_of(events, i);

    if (value <= past)
        return true;
    if (!has_come(&events->event[i]))
        return false;
    /* what the driver has said, for who asks */
    if (value > events->come)
        __atomic_store_n(&events->come, value, __ATOMIC_RELEASE);
    return true;
}

/* The one that was used longest ago, or one more. */
static int take_event(struct mgds_events *events, struct mgds_context *ctx,
                      uint64_t past)
{
    unsigned i = events->next;

    if (events->made == 0 || !may_be_used(events, i, past))
        return make_event(events, ctx);
    events->next = (i + 1) % events->made;
    return (int)i;
}

int mgds_events_record(struct mgds_events *events, struct mgds_context *ctx,
                       void *stream, uint64_t value, uint64_t past)
{
    int i = take_event(events, ctx, past);
    int rc = i < 0 ? i : mgds_event_record(&events->event[i], stream);

    if (rc == 0)
        /* the record, for who asks */
        __atomic_store_n(&events->value[i], value, __ATOMIC_RELEASE);
    return rc;
}

/* Those with the least and with the greatest value from that one on, or -1. */
struct found {
    int least, most;
};

static struct found search_from(const struct mgds_events *events, uint64_t from)
{
    unsigned made = __atomic_load_n(&events->made, __ATOMIC_ACQUIRE);
    uint64_t least = UINT64_MAX, most = 0;
    struct found found = {-1, -1};

    for (unsigned i = 0; i < made; i++) {
        uint64_t value = value_of(events, i);

        if (value < from)
            continue;
        if (value < least) {
            least = value;
            found.least = (int)i;
        }
        if (value > most) {
            most = value;
            found.most = (int)i;
        }
    }
    return found;
}

/* Its value, if it has come; else 0. The event may be recorded anew meanwhile,
 * which comes later. */
static uint64_t ask_event(struct mgds_events *events, int i)
{
    uint64_t value = i < 0 ? 0 : value_of(events, (unsigned)i);

    return value && has_come(&events->event[i]) ? value : 0;
}

static uint64_t ask_some(struct mgds_events *events, uint64_t from)
{
    struct found found = search_from(events, from);
    uint64_t most = ask_event(events, found.most), next;

    if (most || found.least == found.most)
        return most;
    for (int i = 0; i < STEPS; i++) {
        next = ask_event(events, found.least);
        if (!next)
            break;
        most = next;
        found = search_from(events, next + 1);
    }
    return most;
}

uint64_t mgds_events_come(struct mgds_events *events, uint64_t from)
{
    uint64_t come = __atomic_load_n(&events->come, __ATOMIC_ACQUIRE), most;

    mgds_capture_ignore();
    most = ask_some(events, from);
    mgds_capture_heed();
    return most < come && come >= from ? come : most;
}
