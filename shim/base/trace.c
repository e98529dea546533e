/* Rings of trace events; see trace.h. Only mgds_trace_write opens a file. */
#include "shim/base/trace.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/alloc.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/base/path.h"
#include "shim/base/perthread.h"
#include "shim/base/stats.h"
#include "shim/base/tls.h"

static_assert((MGDS_TRACE_RING & (MGDS_TRACE_RING - 1)) == 0,
              "numbers of events are masked into slots");

#define MAX_FIELDS 3

/* One event as words: rings and the sorted copy hold the same. */
enum { WORD_TIME, WORD_WHO, WORD_FIELDS, WORDS = WORD_FIELDS + MAX_FIELDS };

struct entry {
    uint64_t word[WORDS]; /* time in ns; thread << 32 | event; fields */
};

/* slot[i & mask] holds event i, for the last MGDS_TRACE_RING - 1 values of i;
 * one slot is the one being written. Only the owner writes. */
struct ring {
    _Atomic uint64_t next; /* number of the event to be written */
    uint32_t thread;
    struct {
        _Atomic uint64_t word[WORDS];
    } slot[MGDS_TRACE_RING];
};

static const struct {
    const char *name;
    const char *fields[MAX_FIELDS];
} events[] = {
#define NAMES_0(none) NULL
#define NAMES_1(a) #a
#define NAMES_2(a, b) #a, #b
#define NAMES_3(a, b, c) #a, #b, #c
#define X(event, n, ...) {#event, {NAMES_##n(__VA_ARGS__)}},
#include "shim/base/trace.def"
#undef X
};

atomic_bool mgds_trace_on;

static struct mgds_perthread rings;
static bool rings_ready; /* written by start and fini only, then read */
static MGDS_TLS struct ring *mine;

static void leave_thread(void *ring)
{
    mine = NULL;
    mgds_perthread_put(ring);
}

int mgds_trace_start(void)
{
    if (!rings_ready) {
        int rc = mgds_perthread_init(&rings, sizeof(struct ring), leave_thread);
        if (rc < 0)
            return rc;
        rings_ready = true;
    }
    /* Release: who sees it on finds the rings ready. */
    atomic_store_explicit(&mgds_trace_on, true, memory_order_release);
    return 0;
}

void mgds_trace_stop(void)
{
    atomic_store_explicit(&mgds_trace_on, false, memory_order_relaxed);
}

void mgds_trace_fini(void)
{
    mgds_trace_stop();
    if (rings_ready)
        mgds_perthread_fini(&rings);
    rings_ready = false;
    mine = NULL;
}

static struct ring *my_ring(void)
{
    if (!mine) {
        mine = (struct ring *)mgds_perthread_get(&rings);
        if (mine)
            mine->thread = (uint32_t)gettid();
    }
    return mine;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void mgds_trace_record(enum mgds_trace_event event, int64_t a, int64_t b,
                       int64_t c)
{
    struct ring *ring =
        atomic_load_explicit(&mgds_trace_on, memory_order_acquire) ? my_ring()
                                                                   : NULL;
    if (!ring) {
        mgds_count(trace_events_lost);
        return;
    }
    uint64_t number = atomic_load_explicit(&ring->next, memory_order_relaxed);
    const uint64_t words[WORDS] = {
        now_ns(), (uint64_t)ring->thread << 32 | (uint64_t)event, (uint64_t)a,
        (uint64_t)b, (uint64_t)c};
    _Atomic uint64_t *slot = ring->slot[number & (MGDS_TRACE_RING - 1)].word;
    /* Release on every word: a reader that sees a word of event `number` must
     * also see next >= number, and so know that the older event is gone. */
    for (int i = 0; i < WORDS; ++i)
        atomic_store_explicit(&slot[i], words[i], memory_order_release);
    atomic_store_explicit(&ring->next, number + 1, memory_order_release);
}

struct collection {
    struct entry *entries;
    size_t count;
    size_t room;
    uint64_t overwritten;
};

/* Copies one ring; the owner may overwrite the oldest events meanwhile. */
static void collect_ring(struct collection *all, struct ring *ring)
{
    uint64_t end = atomic_load_explicit(&ring->next, memory_order_acquire);
    uint64_t begin = end < MGDS_TRACE_RING ? 0 : end - MGDS_TRACE_RING + 1;
    uint64_t number = begin;
    for (; number < end && all->count < all->room; ++number) {
        struct entry *entry = &all->entries[all->count];
        _Atomic uint64_t *slot =
            ring->slot[number & (MGDS_TRACE_RING - 1)].word;
        for (int i = 0; i < WORDS; ++i)
            entry->word[i] =
                atomic_load_explicit(&slot[i], memory_order_acquire);
        uint64_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
        if (next - number < MGDS_TRACE_RING)
            ++all->count;
        else
            ++all->overwritten;
    }
    all->overwritten += begin;
}

static int by_time(const void *left, const void *right)
{
    uint64_t a = ((const struct entry *)left)->word[WORD_TIME];
    uint64_t b = ((const struct entry *)right)->word[WORD_TIME];
    return (a > b) - (a < b);
}

static void print_entry(FILE *out, const struct entry *entry)
{
    uint64_t time = entry->word[WORD_TIME];
    unsigned event = (unsigned)(entry->word[WORD_WHO] & 0xffffffffu);
    fprintf(out, "%llu.%09llu %u %s", (unsigned long long)(time / 1000000000u),
            (unsigned long long)(time % 1000000000u),
            (unsigned)(entry->word[WORD_WHO] >> 32), events[event].name);
    for (int i = 0; i < MAX_FIELDS && events[event].fields[i]; ++i) {
        const char *field = events[event].fields[i];
        uint64_t value = entry->word[WORD_FIELDS + i];
        if (strcmp(field, "call") == 0)
            fprintf(out, " call %s", mgds_stats_call_name(value));
        else
            fprintf(out, " %s %lld", field, (long long)(int64_t)value);
    }
    fputc('\n', out);
}

static size_t count_entries(void)
{
    size_t count = 0;
    for (void *ring = NULL; (ring = mgds_perthread_next(&rings, ring));)
        count += MGDS_TRACE_RING;
    return count;
}

int mgds_trace_dump(FILE *out)
{
    struct collection all = {.room = rings_ready ? count_entries() : 0};
    if (all.room > 0) {
        all.entries =
            (struct entry *)mgds_calloc(all.room, sizeof(*all.entries));
        if (!all.entries)
            return -ENOMEM;
        for (void *ring = NULL; (ring = mgds_perthread_next(&rings, ring));)
            collect_ring(&all, (struct ring *)ring);
        qsort(all.entries, all.count, sizeof(*all.entries), by_time);
    }
    fprintf(out, "# events %zu, older ones overwritten %llu\n", all.count,
            (unsigned long long)all.overwritten);
    for (size_t i = 0; i < all.count; ++i)
        print_entry(out, &all.entries[i]);
    free(all.entries);
    return (int)all.count;
}

static int dump_to(const char *path)
{
    int fd = mgds_file_open(path, false);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    int rc = fd < 0 ? fd : -errno;
    if (!out && fd >= 0)
        close(fd);
    if (!out)
        return rc;
    rc = mgds_trace_dump(out);
    if (ferror(out) && rc >= 0)
        rc = -EIO;
    if (fclose(out) != 0 && rc >= 0)
        rc = -errno;
    return rc < 0 ? rc : 0;
}

int mgds_trace_write(const char *pattern, int rank)
{
    char path[PATH_MAX];
    int rc = mgds_path_expand(path, sizeof(path), pattern, rank);
    if (rc == 0)
        rc = dump_to(path);
    if (rc < 0) {
        errno = -rc;
        mgds_err("trace file '%s': %m%s", pattern, mgds_file_advice(rc));
    }
    return rc;
}
