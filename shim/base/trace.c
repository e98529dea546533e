/* Rings of trace events; see trace.h. */
#include "shim/base/trace.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/perthread.h"
#include "shim/base/stats.h"
#include "shim/base/tls.h"

static_assert((MGDS_TRACE_RING & (MGDS_TRACE_RING - 1)) == 0,
              "numbers of events are masked into slots");
static_assert(sizeof(struct mgds_trace_entry) == 64, "an event is a line");

#define CACHE_LINE 64

/* slot[i & mask] holds event i, for read <= i < written. */
struct mgds_trace_ring {
    /* the owner's */
    _Atomic uint64_t written, lost;
    _Atomic uint32_t thread;
    char gap[CACHE_LINE];
    /* the reader's */
    _Atomic uint64_t read;
    struct mgds_trace_notes notes;
    char behind[CACHE_LINE];
    struct mgds_trace_entry slot[MGDS_TRACE_RING];
};

atomic_bool mgds_trace_on;

static struct mgds_perthread rings;
static bool rings_ready; /* written by start and fini only, then read */
static MGDS_TLS struct mgds_trace_ring *mine;

/* Rung once, until the reader has come. */
static sem_t bell;
static atomic_bool rung;

static void leave_thread(void *ring)
{
    mine = NULL;
    mgds_perthread_put(ring);
}

int mgds_trace_start(void)
{
    if (!rings_ready) {
        int rc = mgds_perthread_init(&rings, sizeof(struct mgds_trace_ring),
                                     leave_thread);
        if (rc < 0)
            return rc;
        sem_init(&bell, 0, 0);
        atomic_store(&rung, false);
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
    if (rings_ready) {
        mgds_perthread_fini(&rings);
        sem_destroy(&bell);
    }
    rings_ready = false;
    mine = NULL;
}

static void name_thread(void)
{
    union {
        char text[16];
        int64_t word[2];
    } name = {""};

    prctl(PR_GET_NAME, name.text);
    mgds_trace_thread_named(name.word[0], name.word[1]);
}

static struct mgds_trace_ring *my_ring(void)
{
    if (!mine) {
        mine = (struct mgds_trace_ring *)mgds_perthread_get(&rings);
        if (mine) {
            atomic_store_explicit(&mine->thread, (uint32_t)gettid(),
                                  memory_order_relaxed);
            name_thread();
        }
    }
    return mine;
}

static void ring_bell(void)
{
    if (!atomic_load_explicit(&rung, memory_order_relaxed) &&
        !atomic_exchange(&rung, true))
        sem_post(&bell);
}

static void lose(struct mgds_trace_ring *ring)
{
    mgds_count(trace_events_lost);
    if (ring)
        mgds_stats_bump(&ring->lost, 1);
}

void mgds_trace_record(enum mgds_trace_event event,
                       const int64_t field[MGDS_TRACE_FIELDS])
{
    struct mgds_trace_ring *ring =
        atomic_load_explicit(&mgds_trace_on, memory_order_acquire) ? my_ring()
                                                                   : NULL;
    if (!ring) {
        lose(NULL);
        return;
    }
    uint64_t number =
        atomic_load_explicit(&ring->written, memory_order_relaxed);
    /* Acquire: the reader is done with the slot. */
    uint64_t kept =
        number - atomic_load_explicit(&ring->read, memory_order_acquire);
    if (kept == MGDS_TRACE_RING) {
        lose(ring);
        return;
    }
    struct mgds_trace_entry *slot = &ring->slot[number & (MGDS_TRACE_RING - 1)];
    slot->ns = mgds_clock_ns();
    slot->thread = atomic_load_explicit(&ring->thread, memory_order_relaxed);
    slot->event = event;
    memcpy(slot->field, field, sizeof(slot->field));
    /* Release: the entry is whole for who reads the number. */
    atomic_store_explicit(&ring->written, number + 1, memory_order_release);
    if (kept >= MGDS_TRACE_RING / 2)
        ring_bell();
}

struct mgds_trace_ring *mgds_trace_next_ring(struct mgds_trace_ring *ring)
{
    return rings_ready
               ? (struct mgds_trace_ring *)mgds_perthread_next(&rings, ring)
               : NULL;
}

const struct mgds_trace_entry *mgds_trace_peek(struct mgds_trace_ring *ring)
{
    uint64_t number = atomic_load_explicit(&ring->read, memory_order_relaxed);

    if (number == atomic_load_explicit(&ring->written, memory_order_acquire))
        return NULL;
    return &ring->slot[number & (MGDS_TRACE_RING - 1)];
}

void mgds_trace_drop(struct mgds_trace_ring *ring)
{
    uint64_t number = atomic_load_explicit(&ring->read, memory_order_relaxed);

    /* Release: nothing more is read of the slot. */
    atomic_store_explicit(&ring->read, number + 1, memory_order_release);
}

uint64_t mgds_trace_lost(struct mgds_trace_ring *ring, uint32_t *thread)
{
    *thread = atomic_load_explicit(&ring->thread, memory_order_relaxed);
    return atomic_load_explicit(&ring->lost, memory_order_relaxed);
}

struct mgds_trace_notes *mgds_trace_notes(struct mgds_trace_ring *ring)
{
    return &ring->notes;
}

void mgds_trace_wait(unsigned milliseconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (sem_clockwait(&bell, CLOCK_MONOTONIC, &until) < 0 && errno == EINTR)
        ;
    /* Before the rings are looked at: what fills them from now on rings. */
    atomic_store(&rung, false);
}

void mgds_trace_wake(void)
{
    sem_post(&bell);
}
