/* The clock is one word, so that a process that dies in set-up, or a signal
 * handler that looks, never meets it half changed: how many processes are in
 * set-up, since when the first of them is, and the sum of past set-ups. */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Bits of `since` and `sum`, in milliseconds: three days. */
#define BITS 28
#define MASK ((UINT64_C(1) << BITS) - 1)

struct view {
    uint64_t busy, since, sum;
};

int mgds_setup_seconds = 120;

static struct mgds_clock *in_use;

double mgds_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t now_bits(void)
{
    return (uint64_t)mgds_now_ms() & MASK;
}

static struct view unpack(uint64_t state)
{
    return (struct view){state >> (2 * BITS), (state >> BITS) & MASK,
                         state & MASK};
}

static uint64_t pack(struct view v)
{
    return v.busy << (2 * BITS) | v.since << BITS | v.sum;
}

static uint64_t elapsed(struct view v)
{
    return v.busy ? (now_bits() - v.since) & MASK : 0;
}

struct mgds_clock *mgds_clock_new(void)
{
    struct mgds_clock *clock =
        mmap(NULL, sizeof(*clock), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (clock == MAP_FAILED) {
        perror("driver-list: shared memory");
        exit(1);
    }
    return clock;
}

void mgds_clock_free(struct mgds_clock *clock)
{
    munmap(clock, sizeof(*clock));
}

void mgds_clock_reset(struct mgds_clock *clock)
{
    atomic_store(&clock->state, 0);
}

void mgds_clock_use(struct mgds_clock *clock)
{
    in_use = clock;
}

static struct view entered(struct view v)
{
    if (v.busy++ == 0)
        v.since = now_bits();
    return v;
}

static struct view left(struct view v)
{
    if (v.busy == 1)
        v.sum = (v.sum + elapsed(v)) & MASK;
    v.busy--;
    return v;
}

static void change(struct view (*step)(struct view))
{
    uint64_t old;

    if (!in_use)
        return;
    old = atomic_load(&in_use->state);
    while (!atomic_compare_exchange_weak(&in_use->state, &old,
                                         pack(step(unpack(old)))))
        continue;
}

void mgds_setup_begin(void)
{
    change(entered);
}

void mgds_setup_end(void)
{
    change(left);
}

double mgds_clock_setup_ms(const struct mgds_clock *clock)
{
    struct view v = unpack(atomic_load(&clock->state));

    return (double)(v.sum + elapsed(v));
}

bool mgds_clock_busy(const struct mgds_clock *clock)
{
    return unpack(atomic_load(&clock->state)).busy != 0;
}
