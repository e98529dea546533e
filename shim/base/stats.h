/* Counters: those of stats.def, and one for each intercepted function.
 *
 * Every thread counts in a block of its own (perthread.h) and readers add the
 * blocks up. Chosen over one shared array because MPI_THREAD_MULTIPLE
 * programs call from many cores at once: a shared word costs each call a
 * locked instruction and a cache line that travels, an own word a load, an
 * add and a store. The price is some 3.5 kB for a thread that calls MPI. */
#ifndef MGDS_BASE_STATS_H
#define MGDS_BASE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/tls.h"

/* Ids of counters: those of stats.def, then the functions in the order of
 * their names. */
enum mgds_stat {
#define X(name, doc) MGDS_STAT_##name,
#include "shim/base/stats.def"
#undef X
    MGDS_STAT_COUNT
};

/* The calling thread's block, indexed by id; NULL until its first count. */
extern MGDS_TLS _Atomic uint64_t *mgds_stats_mine;

/* n functions are counted from now on; names[n] must stay, and are shown
 * without "MPI_" in front. Once, before any call is counted; counters of
 * stats.def may be counted earlier. -EAGAIN: no thread key was free, then calls
 * are not counted. */
int mgds_stats_calls_init(unsigned n, const char *const *names);

/* Frees the counters: tests only, when other threads have ended. */
void mgds_stats_fini(void);

/* Takes a block for this thread if it has none, and counts. */
void mgds_stats_add_slow(unsigned id, uint64_t n);

/* Adds to a word that only the calling thread writes: no locked instruction.
 */
static inline void mgds_stats_bump(_Atomic uint64_t *word, uint64_t n)
{
    uint64_t now = atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(word, now + n, memory_order_relaxed);
}

/* Adds to a counter. Any thread. */
static inline void mgds_stats_add(unsigned id, uint64_t n)
{
    _Atomic uint64_t *mine = mgds_stats_mine;
    if (__builtin_expect(mine == NULL, 0))
        mgds_stats_add_slow(id, n);
    else
        mgds_stats_bump(&mine[id], n);
}

/* Counts one in the first of MGDS_SIZES counters of classes of sizes, or one of
 * those behind it. */
enum { MGDS_SIZES = 4 };
static inline void mgds_stats_add_sized(unsigned first, size_t bytes)
{
    int size = (bytes > 1024) + (bytes > 65536) + (bytes > 1048576);

    mgds_stats_add(first + (unsigned)size, 1);
}

/* mgds_count(libraries_changed) */
#define mgds_count(name) mgds_stats_add(MGDS_STAT_##name, 1)

/* A counter of the most that there was of something at a time. *most is that,
 * and begins at 0; under a lock of the caller's. */
static inline void mgds_stats_raise(unsigned id, unsigned *most, unsigned now)
{
    if (now <= *most)
        return;
    mgds_stats_add(id, now - *most);
    *most = now;
}

/* One call of function fn, the index in names. */
static inline void mgds_count_call(unsigned fn)
{
    mgds_stats_add(MGDS_STAT_COUNT + fn, 1);
}

/* Sum over all threads; exact for what happened before. */
uint64_t mgds_stats_value(unsigned id);

/* Name of a function, "?" if there is none with that index. */
const char *mgds_stats_call_name(uint64_t fn);

/* One line into text, cut at size: all calls, the most called functions, the
 * counters that are not zero. */
void mgds_stats_summary(char *text, size_t size);

/* Name of a counter of stats.def, and one line that explains it. */
const char *mgds_stats_name(enum mgds_stat id);
const char *mgds_stats_meaning(enum mgds_stat id);

#endif
