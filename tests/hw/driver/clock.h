/* What a case's time limit does not count: starting CUDA and making contexts.
 * On a machine with several large GPUs that takes 10 to 40 s a process when
 * processes start together (H200, driver 580), and says nothing of the case.
 * Libc only; all but the first two functions are async-signal-safe. */
#ifndef MGDS_HW_CLOCK_H
#define MGDS_HW_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Most seconds that a case may spend in set-up. */
extern int mgds_setup_seconds;

/* In memory shared by the parent, a worker and the processes its case forks:
 * while any of them sets up, the time counts, once. */
struct mgds_clock {
    _Atomic uint64_t state; /* see clock.c */
};

/* A clock at zero for a worker and its children; exits when impossible. The
 * caller gives it back. */
struct mgds_clock *mgds_clock_new(void);
void mgds_clock_free(struct mgds_clock *clock);
void mgds_clock_reset(struct mgds_clock *clock);

/* The clock of this process and of those it forks from now on. */
void mgds_clock_use(struct mgds_clock *clock);

/* Around set-up; they nest. Nothing without a clock in use. */
void mgds_setup_begin(void);
void mgds_setup_end(void);

/* Milliseconds of set-up so far, and whether it goes on. */
double mgds_clock_setup_ms(const struct mgds_clock *clock);
bool mgds_clock_busy(const struct mgds_clock *clock);

/* The monotonic clock in milliseconds. */
double mgds_now_ms(void);

#endif
