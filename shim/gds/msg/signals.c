/* Deferred signals; see signals.h. */
#include "shim/gds/msg/signals.h"

#include <errno.h>

#include "shim/base/clock.h"
#include "shim/base/fault.h"
#include "shim/ctx.h"
#include "shim/gds/msg/timeline.h"
#include "shim/gds/stream/gstream.h"

/* How far behind a fence the fence of a send may be that covers it. */
enum { CLOSE = 2 };

/* The time from a query to the first one after it, ns, which doubles each time,
 * and the longest. */
enum { GAP_FIRST = 20000, GAP_LAST = 1000000 };

void mgds_signals_init(struct mgds_signals *signals, uint64_t *told,
                       uint64_t *answer)
{
    *signals = (struct mgds_signals){
        .told = told, .answer = answer, .asked = MGDS_COUNT_FROM};
    *answer = MGDS_COUNT_FROM;
}

/* The next fence, behind a TAKE of so many bytes, is one that is signalled. */
static bool is_next_signalled(const struct mgds_signals *signals, size_t bytes)
{
    const struct mgds_config *config = &mgds_ctx()->config;

    return signals->count + 1 >= config->signal_every ||
           signals->bytes + bytes > config->ring / config->signal_every;
}

bool mgds_signals_defer(struct mgds_signals *signals,
                        const struct mgds_gstream *stream, size_t bytes)
{
    if (!mgds_gstream_can_be_quiet(stream) || is_next_signalled(signals, bytes))
        return false;
    signals->count++;
    signals->bytes += bytes;
    signals->gap = GAP_FIRST;
    return true;
}

void mgds_signals_cover(struct mgds_signals *signals)
{
    signals->count = 0;
    signals->bytes = 0;
}

void mgds_signals_send(struct mgds_signals *signals, struct mgds_fence *fence)
{
    mgds_signals_cover(signals);
    fence->of_send = true;
    signals->send = fence->number;
}

static bool is_covered(const struct mgds_fence *fence)
{
    for (int i = 0; i < CLOSE && fence->next; i++) {
        fence = fence->next;
        if (fence->of_send)
            return true;
    }
    return false;
}

/* Receives alone, one after the other, would have no signal that covers them.
 */
static bool is_last_between_sends(const struct mgds_signals *signals,
                                  uint64_t number, uint64_t last)
{
    return last == number && signals->count == 0 &&
           signals->late <= signals->send;
}

bool mgds_signals_defer_late(struct mgds_signals *signals,
                             const struct mgds_gstream *stream,
                             const struct mgds_fence *fence, uint64_t last)
{
    if (!mgds_gstream_can_be_quiet(stream))
        return false;
    if (is_covered(fence))
        return true;
    if (!is_last_between_sends(signals, fence->number, last))
        return false;
    signals->late = fence->number;
    return mgds_signals_defer(signals, stream, 0);
}

/* Whoever acquires it finds the context gone: nothing of it stands any more. */
void mgds_signals_tell(struct mgds_signals *signals, uint64_t number)
{
    __atomic_store_n(signals->told, number, __ATOMIC_RELEASE);
}

static bool is_last_answered(const struct mgds_signals *signals)
{
    return __atomic_load_n(signals->answer, __ATOMIC_ACQUIRE) == signals->asked;
}

bool mgds_signals_is_answered(const struct mgds_signals *signals)
{
    return !signals->asking && is_last_answered(signals);
}

bool mgds_signals_may_query(const struct mgds_signals *signals)
{
    return signals->count > 0 && is_last_answered(signals) &&
           mgds_clock_ns() >= signals->due;
}

uint64_t mgds_signals_begin_query(struct mgds_signals *signals)
{
    signals->due = mgds_clock_ns() + signals->gap;
    if (signals->gap < GAP_LAST)
        signals->gap *= 2;
    signals->asking++;
    return ++signals->asked;
}

void mgds_signals_end_query(struct mgds_signals *signals)
{
    signals->asking--;
}

/* Where no kernel was launched nobody else answers the query. */
void mgds_signals_query(struct mgds_signals *signals,
                        struct mgds_gstream *stream, uint64_t query,
                        uint64_t last)
{
    int rc = mgds_gstream_tell(stream, signals->told, signals->answer, query);

    if (rc == -ESHUTDOWN)
        mgds_signals_tell(signals, last);
    /* whoever acquires the answer finds the word above, if the CPU wrote it */
    if (rc < 0)
        __atomic_store_n(signals->answer, query, __ATOMIC_RELEASE);
}
