/*
 * For plain mains under mpiexec: CHECK ends the whole job with a line that
 * names what did not hold.
 */
#ifndef MGDS_TESTS_MPI_CHECK_H
#define MGDS_TESTS_MPI_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %s: does not hold: %s\n", __FILE__,        \
                    __LINE__, __func__, #condition);                           \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
