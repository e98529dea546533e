/*
 * Every order of a program's events, depth first: the program runs from the
 * start, in a fresh engine, for each order, by the choices of the last run up
 * to the last one that has another one left. Of two orders that differ only in
 * events which do not touch each other one is run (sleep sets: Godefroid,
 * "Partial-Order Methods for the Verification of Concurrent Systems", 1996).
 *
 * A run ends when nothing can happen but time, and that in vain.
 *
 * A trouble that begins by itself does so at each event in turn, first, second
 * and so on, and befalls each in turn whom it may: each time some of the orders
 * are run, so that it is not late in nearly all of them.
 */
#ifndef MGDS_TEST_EXPLORE_H
#define MGDS_TEST_EXPLORE_H

#include <stdbool.h>

#include "tests/engine/outcome.h"
#include "tests/engine/program.h"

struct explore_rule {
    unsigned most;  /* orders, at most; 0: all */
    unsigned drawn; /* behind them so many that are drawn */
    unsigned seed;
    unsigned trouble_at, trouble_of; /* of a replay */
    struct outcomes *outcomes;       /* of all that were run, or NULL */
    bool strict;        /* no more once it is known that not all can be run */
    bool plain;         /* all orders, also those that differ in nothing */
    const char *replay; /* this one alone: numbers of choices, as printed */
};

/* Places of a trouble that are counted with: `most` and `drawn` are for all. */
enum { EXPLORE_PARTS = 40 };

struct explore_result {
    unsigned runs;     /* orders that were run to their end */
    unsigned cut;      /* that came to what had been seen, and were cut */
    unsigned deep;     /* events of the longest */
    unsigned given_up; /* in how many the engine gave up a peer */
    bool whole;        /* there is no other */
    bool failed;       /* one went wrong: it was printed */
};

struct explore_result explore(const struct program *program,
                              const struct explore_rule *rule);

#endif
