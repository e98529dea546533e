/* What messages over an HCA rely on, tried on two queue pairs of one port that
 * talk to each other: the first things to look at on hardware that nobody has
 * tried yet. */
#ifndef MGDS_HCA_SELFTEST_H
#define MGDS_HCA_SELFTEST_H

#include "shim/gds/hca/refusal.h"

struct mgds_rail;

/* `failure` is NULL if all is well, else what was found instead. */
typedef void (*mgds_selftest_fn)(void *arg, const char *name,
                                 const char *promise, const char *failure);

/* Tells of each test in turn; how many have failed. One that finds nothing is
 * over after five seconds. */
unsigned mgds_selftest_run(struct mgds_rail *rail, mgds_selftest_fn tell,
                           void *arg);

#endif
