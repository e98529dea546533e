/* What the cases of survive.c and survive_silent.c share. */
#ifndef MGDS_TESTS_ENQ_SURVIVE_H
#define MGDS_TESTS_ENQ_SURVIVE_H

#include "tests/enq/enq.h"

enum { DEAD = 2, TAG_DEAD = 1, TAG_ALIVE = 2, SECONDS = 5 };

/* By a signal, with nothing done about it. */
void die(void);

/* The stream goes on, and its error is told: once, whatever failed. */
void expect_failed_once(const struct enq_lane *lane);
/* The same, where that may take so long. */
void expect_failed_within(const struct enq_lane *lane, double seconds);
void expect_well(const struct enq_lane *lane);

/* Ranks 0 and 1, with each other. */
void living_go_on(const struct enq_lane *lane);

/* The same, and rank 0 has learnt of the death. */
void go_on(const struct enq_lane *lane);

/* Those to or from the dead, whose end is known. */
void later_calls_fail(const struct enq_lane *lane);

/* The cases of survive_silent.c. */
void d9_silent_receive(const struct enq_lane *lane);
void d9_silent_probe(const struct enq_lane *lane);
void d9_silent_source(const struct enq_lane *lane);
void d9_silent_source_gone(const struct enq_lane *lane);

/* The cases of survive_stopped.c. */
void d9_stopped(const struct enq_lane *lane);
void d9_taken_for_dead(const struct enq_lane *lane);
void d9_stopped_in_parts(const struct enq_lane *lane);
void d9_given_up_goes_on(const struct enq_lane *lane);

#endif
