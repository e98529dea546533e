/* What tests of rings look at: their bytes, and who is current. */
#ifndef MGDS_TEST_RING_PLACE_H
#define MGDS_TEST_RING_PLACE_H

#include <stdint.h>

#include "device/impl/mem.h"
#include "shim/gds/proto/ring.h"
#include "tests/soft/soft_cuda.h"

/* A context of the driver's, as the library has it: a reference. */
struct mgds_context *ring_context_of(CUcontext handle);

/* The units from addr on; they are all zero, or hold {seed + i, ~seed}. */
void ring_assert_zero(const char *addr, uint32_t units);
void ring_assert_filled(const char *addr, uint32_t units, uint64_t seed);
void ring_fill(char *addr, uint32_t units, uint64_t seed);

/* Whether the driver has memory there that can be told to others. */
bool ring_is_memory(const char *addr);

/* Whether the driver has memory of others mapped there. Closes it if so: the
 * last question. */
bool ring_is_mapped(const char *addr);

/* How many hardware queues a GPU has. */
unsigned ring_queues(void);

/* Streams, the default one first, that stand in a wait until it is released;
 * each holds a hardware queue. One wait at a time. */
enum { RING_WAITS = 32 };
struct ring_wait {
    uint64_t *word; /* that they wait for, and a mark of each */
    CUstream stream[RING_WAITS];
    unsigned count;
};

/* Returns when all of them stand. */
void ring_wait_open(struct ring_wait *wait, unsigned count);
bool ring_wait_stands(const struct ring_wait *wait);
void ring_wait_close(struct ring_wait *wait);

/* Lets the one that a failed test has left go on, if any. */
void ring_wait_release(void);

#endif
