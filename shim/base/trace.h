/* Trace points: what happened, in which thread, when. For each row of
 * trace.def there are two functions with its fields as parameters:
 *   mgds_probe_EVENT  a USDT probe mpix_gds:EVENT, one nop (nothing where
 *                     <sys/sdt.h> was missing)
 *   mgds_trace_EVENT  the probe, and while tracing is on the ring of the
 *                     calling thread; one test while it is off
 * A ring keeps the last MGDS_TRACE_RING - 1 events of its thread, without
 * locks and, after the first event, without allocation. */
#ifndef MGDS_BASE_TRACE_H
#define MGDS_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef MGDS_HAVE_SDT
#include <sys/sdt.h>
#define MGDS_PROBE_0(event) DTRACE_PROBE(mpix_gds, event)
#define MGDS_PROBE_1(event, a) DTRACE_PROBE1(mpix_gds, event, a)
#define MGDS_PROBE_2(event, a, b) DTRACE_PROBE2(mpix_gds, event, a, b)
#define MGDS_PROBE_3(event, a, b, c) DTRACE_PROBE3(mpix_gds, event, a, b, c)
#else
#define MGDS_PROBE_0(event) (void)0
#define MGDS_PROBE_1(event, a) (void)(a)
#define MGDS_PROBE_2(event, a, b) (void)(a), (void)(b)
#define MGDS_PROBE_3(event, a, b, c) (void)(a), (void)(b), (void)(c)
#endif

#define MGDS_TRACE_RING 4096 /* a power of two */

enum mgds_trace_event {
#define X(event, n, ...) MGDS_TRACE_##event,
#include "shim/base/trace.def"
#undef X
    MGDS_TRACE_EVENT_COUNT
};

extern atomic_bool mgds_trace_on;

/* Turns the rings on. -EAGAIN: no thread key was free. */
int mgds_trace_start(void);

/* Turns the rings off; what they hold stays. */
void mgds_trace_stop(void);

/* Drops the rings: tests only, when other threads have ended. */
void mgds_trace_fini(void);

/* Writes all rings as text, ordered by time, one event a line:
 *   SECONDS THREAD EVENT FIELD VALUE..
 * Threads may go on tracing; what they overwrite meanwhile is left out. The
 * number of events written, or -ENOMEM. */
int mgds_trace_dump(FILE *out);

/* mgds_trace_dump into the file that a pattern (path.h) names. Negative errno
 * if that fails; one line in the log says so. */
int mgds_trace_write(const char *pattern, int rank);

/* One event of this thread; what the functions below call while on. */
void mgds_trace_record(enum mgds_trace_event event, int64_t a, int64_t b,
                       int64_t c);

#define MGDS_TRACE_PARAMS_0() void
#define MGDS_TRACE_PARAMS_1(a) int64_t a
#define MGDS_TRACE_PARAMS_2(a, b) int64_t a, int64_t b
#define MGDS_TRACE_PARAMS_3(a, b, c) int64_t a, int64_t b, int64_t c
#define MGDS_TRACE_VALUES_0() 0, 0, 0
#define MGDS_TRACE_VALUES_1(a) a, 0, 0
#define MGDS_TRACE_VALUES_2(a, b) a, b, 0
#define MGDS_TRACE_VALUES_3(a, b, c) a, b, c
#define MGDS_TRACE_PROBE_0(event, none) MGDS_PROBE_0(event)
#define MGDS_TRACE_PROBE_1 MGDS_PROBE_1
#define MGDS_TRACE_PROBE_2 MGDS_PROBE_2
#define MGDS_TRACE_PROBE_3 MGDS_PROBE_3

#define X(event, n, ...)                                                       \
    static inline void mgds_probe_##event(MGDS_TRACE_PARAMS_##n(__VA_ARGS__))  \
    {                                                                          \
        MGDS_TRACE_PROBE_##n(event, __VA_ARGS__);                              \
    }                                                                          \
    static inline void mgds_trace_##event(MGDS_TRACE_PARAMS_##n(__VA_ARGS__))  \
    {                                                                          \
        MGDS_TRACE_PROBE_##n(event, __VA_ARGS__);                              \
        if (atomic_load_explicit(&mgds_trace_on, memory_order_relaxed))        \
            mgds_trace_record(MGDS_TRACE_##event,                              \
                              MGDS_TRACE_VALUES_##n(__VA_ARGS__));             \
    }
#include "shim/base/trace.def"
#undef X

#endif
