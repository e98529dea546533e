/* Arguments of the test kernels. */
#ifndef MGDS_TESTS_SIM_KERNELS_H
#define MGDS_TESTS_SIM_KERNELS_H

#include <stdint.h>

/* meet: every block waits until all others have come, `rounds` times. */
struct meet_args {
    uint64_t arrived, rounds;
};

/* pass: each thread writes its number, then reads its neighbour's. *failed = 1
 * if that is wrong, *threads = how many a block had. */
struct pass_args {
    uint64_t words, failed, threads;
};

#endif
