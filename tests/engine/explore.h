/*
 * Every order of a program's events, depth first: the program runs from the
 * start, in a fresh engine, for each order, by the choices of the last run up
 * to the last one that has another one left. Of two orders that differ only in
 * events which do not touch each other one is run (sleep sets: Godefroid,
 * "Partial-Order Methods for the Verification of Concurrent Systems", 1996).
 *
 * A run ends when nothing can happen but time, and that in vain.
 */
#ifndef MGDS_TEST_EXPLORE_H
#define MGDS_TEST_EXPLORE_H

#include <stdbool.h>

#include "tests/engine/program.h"

struct explore_rule {
    unsigned most;  /* orders, at most; 0: all */
    unsigned drawn; /* behind them so many that are drawn */
    unsigned seed;
    bool plain;         /* all orders, also those that differ in nothing */
    const char *replay; /* this one alone: numbers of choices, as printed */
};

struct explore_result {
    unsigned runs; /* orders that were run to their end */
    unsigned cut;  /* that came to what had been seen, and were cut */
    unsigned deep; /* events of the longest */
    bool whole;    /* there is no other */
    bool failed;   /* one went wrong: it was printed */
};

struct explore_result explore(const struct program *program,
                              const struct explore_rule *rule);

#endif
