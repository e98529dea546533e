/* Counters; see stats.h. Touches nothing but memory. */
#include "shim/base/stats.h"

#include <string.h>

#include "shim/base/perthread.h"
#include "shim/base/text.h"

#define TOP_FUNCTIONS 6 /* named in a summary line */

static const struct {
    const char *name;
    const char *doc;
} own_rows[] = {
#define X(name, doc) {#name, doc},
#include "shim/base/stats.def"
#undef X
};

MGDS_TLS _Atomic uint64_t *mgds_stats_mine;

static struct {
    struct mgds_perthread blocks;
    const char *const *names;
    unsigned functions;
    atomic_bool ready;
    /* Counts of threads that have no block, for want of init or memory. */
    _Atomic uint64_t shared[MGDS_STAT_COUNT];
} stats;

static void leave_thread(void *block)
{
    mgds_stats_mine = NULL;
    mgds_perthread_put(block);
}

int mgds_stats_calls_init(unsigned n, const char *const *names)
{
    size_t bytes = (MGDS_STAT_COUNT + n) * sizeof(stats.shared[0]);
    int rc = mgds_perthread_init(&stats.blocks, bytes, leave_thread);
    if (rc < 0)
        return rc;
    stats.names = names;
    stats.functions = n;
    atomic_store_explicit(&stats.ready, true, memory_order_release);
    return 0;
}

static bool is_ready(void)
{
    return atomic_load_explicit(&stats.ready, memory_order_acquire);
}

void mgds_stats_fini(void)
{
    if (is_ready())
        mgds_perthread_fini(&stats.blocks);
    atomic_store(&stats.ready, false);
    mgds_stats_mine = NULL;
    stats.functions = 0;
    for (unsigned i = 0; i < MGDS_STAT_COUNT; ++i)
        atomic_store(&stats.shared[i], 0);
}

static void add_shared(unsigned id, uint64_t n)
{
    if (id >= MGDS_STAT_COUNT)
        id = MGDS_STAT_counts_lost;
    atomic_fetch_add_explicit(&stats.shared[id], n, memory_order_relaxed);
}

/* In a block of this thread's, unless there is no memory for one. */
static void add_own(unsigned id, uint64_t n)
{
    _Atomic uint64_t *block =
        (_Atomic uint64_t *)mgds_perthread_get(&stats.blocks);

    mgds_stats_mine = block;
    if (block)
        mgds_stats_bump(&block[id], n);
    else
        add_shared(id, n);
}

/* Where calls are not watched there are no blocks. */
void mgds_stats_add_slow(unsigned id, uint64_t n)
{
    (is_ready() ? add_own : add_shared)(id, n);
}

uint64_t mgds_stats_value(unsigned id)
{
    uint64_t sum = 0;
    if (id < MGDS_STAT_COUNT)
        sum = atomic_load_explicit(&stats.shared[id], memory_order_relaxed);
    if (!is_ready() || id >= MGDS_STAT_COUNT + stats.functions)
        return sum;
    void *block = NULL;
    while ((block = mgds_perthread_next(&stats.blocks, block)))
        sum += atomic_load_explicit((_Atomic uint64_t *)block + id,
                                    memory_order_relaxed);
    return sum;
}

const char *mgds_stats_call_name(uint64_t fn)
{
    return is_ready() && fn < stats.functions ? stats.names[fn] : "?";
}

/* As counters are shown. */
static const char *short_name(unsigned fn)
{
    static const char prefix[] = "MPI_";
    const char *name = stats.names[fn];
    size_t skip = sizeof(prefix) - 1;

    return strncmp(name, prefix, skip) == 0 ? name + skip : name;
}

struct busy_function {
    unsigned fn;
    uint64_t calls;
};

/* Inserts into a list that falls from the most called; the last drops out. */
static void rank_function(struct busy_function top[TOP_FUNCTIONS],
                          struct busy_function one)
{
    for (unsigned i = 0; i < TOP_FUNCTIONS; ++i) {
        if (one.calls > top[i].calls) {
            struct busy_function moved = top[i];
            top[i] = one;
            one = moved;
        }
    }
}

void mgds_stats_summary(char *text, size_t size)
{
    struct mgds_text out;
    struct busy_function top[TOP_FUNCTIONS] = {{0, 0}};
    uint64_t all = 0;
    mgds_text_init(&out, text, size);
    for (unsigned fn = 0; fn < stats.functions; ++fn) {
        uint64_t calls = mgds_stats_value(MGDS_STAT_COUNT + fn);
        all += calls;
        rank_function(top, (struct busy_function){fn, calls});
    }
    mgds_text_add(&out, "summary: calls %llu", (unsigned long long)all);
    for (unsigned i = 0; i < TOP_FUNCTIONS && top[i].calls > 0; ++i)
        mgds_text_add(&out, ", %s %llu", short_name(top[i].fn),
                      (unsigned long long)top[i].calls);
    for (unsigned id = 0; id < MGDS_STAT_COUNT; ++id) {
        uint64_t value = mgds_stats_value(id);
        if (value > 0)
            mgds_text_add(&out, "; %s %llu", own_rows[id].name,
                          (unsigned long long)value);
    }
}

const char *mgds_stats_name(enum mgds_stat id)
{
    return own_rows[id].name;
}

const char *mgds_stats_meaning(enum mgds_stat id)
{
    return own_rows[id].doc;
}
