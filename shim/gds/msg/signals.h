/*
 * Deferred signals of a timeline (timeline.h): fences that the stream keeps in
 * its own memory, which is cheaper than a store to host memory (device/abi.h),
 * and queries, which have a stream of ours copy the last one to host memory.
 *
 *   told     writer: a kernel on a stream of ours. Deferred fences with numbers
 *            up to it were reached: all that was put ahead of them is done, and
 *            its data visible. As old as the last query.
 *   answer   writer: the same, after told. Queries up to it were answered.
 *
 * Where that kernel cannot be launched, or the stream's context is gone, the
 * CPU writes both, under no lock: a query is its asker's until it is answered.
 *
 * The rule. Of every k receives in a row that end with a TAKE one is signalled,
 * and one for every k-th part of a ring that they take (MPIX_GDS_SIGNAL_EVERY);
 * a signalled fence covers the deferred ones ahead of it. Who must know sooner
 * asks. So nothing may wait for such a receive but slots in rings, receive
 * records, and calls that ask. Where others wait the rule is not asked: fences
 * of sends are signalled, and those of long messages whose sender's CPU waits
 * (put.c).
 *
 * All functions are called under the engine's lock that do not say otherwise.
 */
#ifndef MGDS_MSG_SIGNALS_H
#define MGDS_MSG_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mgds_gstream;
struct mgds_fence;

/* The deferred signals of a timeline. All but the words are written under the
 * engine's lock. */
struct mgds_signals {
    uint64_t *told, *answer; /* words of the timeline's line (syncwords.h) */
    unsigned count;          /* so many fences, the last ones, are deferred */
    unsigned asking;         /* threads that launch a query */
    size_t bytes;            /* of the messages ahead of deferred fences */
    uint64_t send;           /* the last fence of a send */
    uint64_t late;           /* the last fence that became deferred when it
                                stood */
    uint64_t asked;          /* queries */
    uint64_t due, gap; /* when the next query may be made, and the one after
                          that so long after it, ns */
};

/* No fence is deferred; the words are the timeline's. */
void mgds_signals_init(struct mgds_signals *signals, uint64_t *told,
                       uint64_t *answer);

/* Whether the last fence of the stream's timeline, behind a TAKE of so many
 * bytes, is deferred from now on. */
bool mgds_signals_defer(struct mgds_signals *signals,
                        const struct mgds_gstream *stream, size_t bytes);
/* The last fence is signalled, or one that covers it was put behind it. */
void mgds_signals_cover(struct mgds_signals *signals);
/* The last fence, which is this one, is a send's: signalled in any case. */
void mgds_signals_send(struct mgds_signals *signals, struct mgds_fence *fence);
/* Whether a fence, of no slot in a ring, is deferred after all, although it was
 * put as one that is signalled: a send's fence is close behind it, or may be
 * soon.
 * last: the number of the timeline's last fence. */
bool mgds_signals_defer_late(struct mgds_signals *signals,
                             const struct mgds_gstream *stream,
                             const struct mgds_fence *fence, uint64_t last);

/* Whether the last fence is deferred. */
static inline bool mgds_signals_any_deferred(const struct mgds_signals *signals)
{
    return signals->count > 0;
}

/* Whether the deferred fence of that number is known to be reached. Any thread,
 * without the lock. */
static inline bool mgds_signals_is_told(const struct mgds_signals *signals,
                                        uint64_t number)
{
    return __atomic_load_n(signals->told, __ATOMIC_ACQUIRE) >= number;
}

/* The context is gone: all fences up to that number are reached. Any thread. */
void mgds_signals_tell(struct mgds_signals *signals, uint64_t number);

/* No query stands. */
bool mgds_signals_is_answered(const struct mgds_signals *signals);

/* Some deferred fence is not known to be reached, no query stands, and the last
 * query was not just now. */
bool mgds_signals_may_query(const struct mgds_signals *signals);

/* The number of a new query. The timeline stays where it is until the query is
 * ended. */
uint64_t mgds_signals_begin_query(struct mgds_signals *signals);
/* The query is made: a CUDA call, without the lock. last: the number of the
 * timeline's last fence when the query was begun. */
void mgds_signals_query(struct mgds_signals *signals,
                        struct mgds_gstream *stream, uint64_t query,
                        uint64_t last);
void mgds_signals_end_query(struct mgds_signals *signals);

#endif
