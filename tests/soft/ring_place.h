/* What tests of rings look at: their bytes, and who is current. */
#ifndef MGDS_TEST_RING_PLACE_H
#define MGDS_TEST_RING_PLACE_H

#include <stdint.h>

#include "device/impl/mem.h"
#include "shim/gds/ring/ring.h"
#include "tests/soft/soft_cuda.h"

/* A context of the driver's, as the library has it: a reference. */
struct mgds_context *ring_context_of(CUcontext handle);

/* The units from addr on; they are all zero, or hold {seed + i, ~seed}. */
void ring_assert_zero(const char *addr, uint32_t units);
void ring_assert_filled(const char *addr, uint32_t units, uint64_t seed);
void ring_fill(char *addr, uint32_t units, uint64_t seed);

/* Whether the driver has memory there that can be told to others. */
bool ring_is_memory(const char *addr);

/* A wait of two streams, the default one also, that stands until it is
 * released. */
struct ring_wait {
    uint32_t *flag;
    CUstream stream;
};

void ring_wait_open(struct ring_wait *wait);
bool ring_wait_stands(const struct ring_wait *wait);
void ring_wait_close(struct ring_wait *wait);

#endif
