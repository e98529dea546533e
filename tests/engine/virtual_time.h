/* The monotonic clock, the kernel's random bytes and the processor, as a test
 * of every order of events wants them: time passes when the test says so, bytes
 * are the same in each run, and a call that gives the processor away lets a
 * hundred microseconds pass. Programs link with --wrap (CMakeLists.txt). */
#ifndef MGDS_TEST_VIRTUAL_TIME_H
#define MGDS_TEST_VIRTUAL_TIME_H

#include <stdint.h>

/* So many ns more. */
void time_pass(uint64_t ns);
uint64_t time_now(void);

/* Random bytes begin anew. */
void time_reseed(void);

#endif
