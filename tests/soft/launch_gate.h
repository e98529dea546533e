/*
 * Launches of kernels, which are counted, and which stand behind a gate where a
 * test asks for it; and places whose bytes differ, for who copies between them.
 */
#ifndef MGDS_TEST_LAUNCH_GATE_H
#define MGDS_TEST_LAUNCH_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/soft/stage_place.h"

extern unsigned launches;
extern bool launches_held; /* those to come stand behind the gate */
extern uint32_t *launch_gate;

/* Around a test, for its setup and teardown: the gate is open, nothing is held.
 * settle waits until all that was launched has run. */
void launch_gate_make(void);
void launch_gate_open(bool open);
void launch_gate_settle(void);
void launch_gate_remove(void);

/* Opens a place with bytes of its own. */
void stage_open_filled(struct stage_place *place, int seed);

#endif
