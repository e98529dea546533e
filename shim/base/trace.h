/* Trace points: what happened, in which thread, when. For each row of
 * trace.def there are two functions with its fields as parameters:
 *   mgds_probe_EVENT  a USDT probe mpix_gds:EVENT, one nop (nothing where
 *                     <sys/sdt.h> was missing)
 *   mgds_trace_EVENT  the probe, and while tracing is on the ring of the
 *                     calling thread; one test while it is off
 *
 * A ring has one writer, the thread, and one reader, who empties it into a file
 * (trace_file.h). Recording takes no lock, never waits and, after the thread's
 * first event, neither allocates nor enters the kernel, but to ring a bell once
 * in half a ring. Where the ring is full the event is counted instead.
 *
 *   owner   entry, then written (release)     reader  acquires written
 *           acquires read before it reuses    entry, then read (release)
 */
#ifndef MGDS_BASE_TRACE_H
#define MGDS_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef MGDS_HAVE_SDT
#include <sys/sdt.h>
#define MGDS_PROBE_0(event) DTRACE_PROBE(mpix_gds, event)
#define MGDS_PROBE_1(event, ...) DTRACE_PROBE1(mpix_gds, event, __VA_ARGS__)
#define MGDS_PROBE_2(event, ...) DTRACE_PROBE2(mpix_gds, event, __VA_ARGS__)
#define MGDS_PROBE_3(event, ...) DTRACE_PROBE3(mpix_gds, event, __VA_ARGS__)
#define MGDS_PROBE_4(event, ...) DTRACE_PROBE4(mpix_gds, event, __VA_ARGS__)
#define MGDS_PROBE_5(event, ...) DTRACE_PROBE5(mpix_gds, event, __VA_ARGS__)
#define MGDS_PROBE_6(event, ...) DTRACE_PROBE6(mpix_gds, event, __VA_ARGS__)
#else
#define MGDS_PROBE_0(event) (void)0
#define MGDS_PROBE_1(event, a) (void)(a)
#define MGDS_PROBE_2(event, a, b) (void)(a), (void)(b)
#define MGDS_PROBE_3(event, a, b, c) (void)(a), (void)(b), (void)(c)
#define MGDS_PROBE_4(event, a, ...) (void)(a), MGDS_PROBE_3(event, __VA_ARGS__)
#define MGDS_PROBE_5(event, a, ...) (void)(a), MGDS_PROBE_4(event, __VA_ARGS__)
#define MGDS_PROBE_6(event, a, ...) (void)(a), MGDS_PROBE_5(event, __VA_ARGS__)
#endif

#define MGDS_TRACE_RING 4096 /* a power of two */
#define MGDS_TRACE_FIELDS 6

enum mgds_trace_event {
#define X(event, ...) MGDS_TRACE_##event,
#include "shim/base/trace.def"
#undef X
    MGDS_TRACE_EVENT_COUNT
};

/* An event fills one cache line. */
struct mgds_trace_entry {
    uint64_t ns; /* mgds_clock_ns */
    uint32_t thread, event;
    int64_t field[MGDS_TRACE_FIELDS];
};

struct mgds_trace_ring;

extern atomic_bool mgds_trace_on;

/* Turns the rings on. -EAGAIN: no thread key was free. */
int mgds_trace_start(void);

/* Turns the rings off; what they hold stays. */
void mgds_trace_stop(void);

/* Drops the rings: tests only, when other threads have ended. */
void mgds_trace_fini(void);

/* Records an event of this thread: the functions below call it while the
 * rings are on. */
void mgds_trace_record(enum mgds_trace_event event,
                       const int64_t field[MGDS_TRACE_FIELDS]);

/* Reading: by one thread at a time, while others record. */

/* Walks the rings: NULL starts, NULL ends. */
struct mgds_trace_ring *mgds_trace_next_ring(struct mgds_trace_ring *ring);

/* The oldest event of a ring, until it is dropped; NULL: there is none. */
const struct mgds_trace_entry *mgds_trace_peek(struct mgds_trace_ring *ring);
void mgds_trace_drop(struct mgds_trace_ring *ring);

/* How many events did not fit into the ring so far; the thread is that which
 * has it now. */
uint64_t mgds_trace_lost(struct mgds_trace_ring *ring, uint32_t *thread);

/* A place for the reader's own notes on the ring, 0 at first. */
struct mgds_trace_notes;
struct mgds_trace_notes *mgds_trace_notes(struct mgds_trace_ring *ring);

/* Calls that are open in a thread, from outside in. */
enum { MGDS_TRACE_DEPTH = 8 };
struct mgds_trace_notes {
    uint64_t lost; /* told so far */
    unsigned depth;
    struct mgds_trace_entry open[MGDS_TRACE_DEPTH];
};

/* Waits until some ring is half full, mgds_trace_wake is called, or the time is
 * over. */
void mgds_trace_wait(unsigned milliseconds);
void mgds_trace_wake(void);

#define MGDS_TRACE_PARAMS_0() void
#define MGDS_TRACE_PARAMS_1(a) int64_t a
#define MGDS_TRACE_PARAMS_2(a, ...) int64_t a, MGDS_TRACE_PARAMS_1(__VA_ARGS__)
#define MGDS_TRACE_PARAMS_3(a, ...) int64_t a, MGDS_TRACE_PARAMS_2(__VA_ARGS__)
#define MGDS_TRACE_PARAMS_4(a, ...) int64_t a, MGDS_TRACE_PARAMS_3(__VA_ARGS__)
#define MGDS_TRACE_PARAMS_5(a, ...) int64_t a, MGDS_TRACE_PARAMS_4(__VA_ARGS__)
#define MGDS_TRACE_PARAMS_6(a, ...) int64_t a, MGDS_TRACE_PARAMS_5(__VA_ARGS__)
#define MGDS_TRACE_VALUES_0(none) 0
#define MGDS_TRACE_VALUES_1(...) __VA_ARGS__
#define MGDS_TRACE_VALUES_2 MGDS_TRACE_VALUES_1
#define MGDS_TRACE_VALUES_3 MGDS_TRACE_VALUES_1
#define MGDS_TRACE_VALUES_4 MGDS_TRACE_VALUES_1
#define MGDS_TRACE_VALUES_5 MGDS_TRACE_VALUES_1
#define MGDS_TRACE_VALUES_6 MGDS_TRACE_VALUES_1
#define MGDS_TRACE_PROBE_0(event, none) MGDS_PROBE_0(event)
#define MGDS_TRACE_PROBE_1 MGDS_PROBE_1
#define MGDS_TRACE_PROBE_2 MGDS_PROBE_2
#define MGDS_TRACE_PROBE_3 MGDS_PROBE_3
#define MGDS_TRACE_PROBE_4 MGDS_PROBE_4
#define MGDS_TRACE_PROBE_5 MGDS_PROBE_5
#define MGDS_TRACE_PROBE_6 MGDS_PROBE_6

#define X(event, name, phase, n, ...)                                          \
    static inline void mgds_probe_##event(MGDS_TRACE_PARAMS_##n(__VA_ARGS__))  \
    {                                                                          \
        MGDS_TRACE_PROBE_##n(event, __VA_ARGS__);                              \
    }                                                                          \
    static inline void mgds_trace_##event(MGDS_TRACE_PARAMS_##n(__VA_ARGS__))  \
    {                                                                          \
        MGDS_TRACE_PROBE_##n(event, __VA_ARGS__);                              \
        if (atomic_load_explicit(&mgds_trace_on, memory_order_relaxed)) {      \
            const int64_t field[MGDS_TRACE_FIELDS] = {                         \
                MGDS_TRACE_VALUES_##n(__VA_ARGS__)};                           \
                                                                               \
            mgds_trace_record(MGDS_TRACE_##event, field);                      \
        }                                                                      \
    }
#include "shim/base/trace.def"
#undef X

#endif
