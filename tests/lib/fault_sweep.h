/* Every failure path of a piece of code, one after the other. */
#ifndef MGDS_TEST_FAULT_SWEEP_H
#define MGDS_TEST_FAULT_SWEEP_H

#include "shim/base/fault.h"

/* Runs run(arg) with the first passage of the site failing, then the second,
 * and so on until a run has fewer passages than that: it must return 0. run
 * sets up, checks what must hold either way, and cleans up: what it leaves
 * behind after a failure is found by the leak check of ASan, here, for each n
 * by itself. The number of failures that were injected; skips the test in
 * builds without MGDS_FAULT. */
unsigned mgds_fault_sweep(enum mgds_fault_site site, int (*run)(void *arg),
                          void *arg);

#endif
