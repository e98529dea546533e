/* CHECK of tests/lib/mpi_check.h as a function, for tests that hold much to be
 * true in a row. */
#ifndef MGDS_TESTS_API_CHECK_H
#define MGDS_TESTS_API_CHECK_H

#include <stdio.h>
#include <stdlib.h>

static inline void mgds_test_hold(int holds, const char *what, const char *file,
                                  int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

#undef CHECK
#define CHECK(condition)                                                       \
    mgds_test_hold((condition), #condition, __FILE__, __LINE__)

#endif
