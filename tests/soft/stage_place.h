/* What tests of staging stage: GPU memory with known bytes, and layouts. */
#ifndef MGDS_TEST_STAGE_PLACE_H
#define MGDS_TEST_STAGE_PLACE_H

#include <stddef.h>

#include "shim/gds/mem/bounce.h"
#include "tests/soft/soft_cuda.h"

/* Filled by stage_start, for cmocka: the first one is current then. */
extern CUcontext stage_primary[2];
int stage_start(void **state);

/* Bytes of a place; buffers begin in its middle. */
enum { ROOM = 1 << 20, ORIGIN = 1 << 19 };

/* Memory of the current context, and what must be in it. */
struct stage_place {
    CUdeviceptr gpu;
    unsigned char *want;
};

void stage_open_place(struct stage_place *place);
void stage_close_place(struct stage_place *place);

/* Every byte of it is as wanted. */
void stage_assert_place(const struct stage_place *place);

struct mgds_layout *stage_bytes_of(size_t size);

/* Takes the reference to child over. */
struct mgds_layout *stage_hvector_of(struct mgds_layout *child, size_t count,
                                     size_t blocklength, ptrdiff_t stride);

struct mgds_buffer stage_buffer_at(CUdeviceptr at, struct mgds_layout *layout,
                                   size_t count);

struct mgds_bounce *stage_bounce_of(const struct mgds_buffer *buffer,
                                    enum mgds_bounce_form form);

#endif
