/* Which states operations came to, by protocol, against what they can come to
 * on a GPU that is run by hand. */
#ifndef MGDS_TEST_COVERAGE_H
#define MGDS_TEST_COVERAGE_H

#include <stdbool.h>

#include "tests/engine/witness.h"

/* Visits are those of programs in every order, of programs in which something
 * goes wrong in every order, or of programs that threads run. */
enum coverage_of { COVERAGE_WELL, COVERAGE_TROUBLED, COVERAGE_THREADS };

/* A line for each state that should have been visited and was not, and for each
 * that was, though nothing should lead there; false if there is any. Where
 * things went wrong others are visited, too, and not all of the rest; by
 * threads a receive is cancelled in time or not. */
bool coverage_check(const unsigned visits[2][WITNESS_PROTOCOLS][WITNESS_STATES],
                    enum coverage_of of);

/* The table, for people: a count each, and why a state is not visited. */
void coverage_print(
    const unsigned visits[2][WITNESS_PROTOCOLS][WITNESS_STATES]);

#endif
