/* What each trouble (program.h) has led to, so that no program of it only looks
 * as if it met any. */
#ifndef MGDS_TEST_TOLL_H
#define MGDS_TEST_TOLL_H

#include <stdbool.h>

#include "tests/engine/program.h"

enum { TOLL_COUNTS = 7 };

struct toll {
    unsigned long count[PROGRAM_STALLED + 1][TOLL_COUNTS];
};

/* What the process has counted, all with that trouble; and in how many runs the
 * engine has given up a peer. */
void toll_add(struct toll *toll, enum program_trouble trouble,
              unsigned given_up);

/* A line for each trouble that has not led to what it is there for; false if
 * there is any. */
bool toll_check(const struct toll *toll);

#endif
