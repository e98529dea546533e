/* Places, layouts and bounces as tests of staging want them. */
#include "tests/soft/stage_place.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/soft/soft_cuda.h"

CUcontext stage_primary[2];

int stage_start(void **state)
{
    (void)state;
    OK(cu.cuInit(0));
    for (int i = 0; i < 2; i++)
        OK(cu.cuDevicePrimaryCtxRetain(&stage_primary[i], i));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    return 0;
}

static void write_gpu(CUdeviceptr to, const void *from, size_t bytes)
{
    OK(cu.cuMemcpy(to, (CUdeviceptr)(uintptr_t)from, bytes));
    OK(cu.cuStreamSynchronize(NULL));
}

void stage_open_place(struct stage_place *place)
{
    OK(cu.cuMemAlloc_v2(&place->gpu, ROOM));
    place->want = (unsigned char *)malloc(ROOM);
    assert_non_null(place->want);
    for (size_t i = 0; i < ROOM; i++)
        place->want[i] = (unsigned char)(i * 7 + (i >> 8) * 3 + 1);
    write_gpu(place->gpu, place->want, ROOM);
}

void stage_close_place(struct stage_place *place)
{
    OK(cu.cuMemFree_v2(place->gpu));
    free(place->want);
}

void stage_assert_place(const struct stage_place *place)
{
    unsigned char *got = (unsigned char *)malloc(ROOM);

    assert_non_null(got);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, place->gpu, ROOM));
    assert_memory_equal(got, place->want, ROOM);
    free(got);
}

struct mgds_layout *stage_bytes_of(size_t size)
{
    struct mgds_layout *layout;

    assert_int_equal(mgds_layout_bytes(&layout, size, size), 0);
    return layout;
}

struct mgds_layout *stage_hvector_of(struct mgds_layout *child, size_t count,
                                     size_t blocklength, ptrdiff_t stride)
{
    struct mgds_layout *layout;

    assert_int_equal(
        mgds_layout_hvector(&layout, child, count, blocklength, stride), 0);
    mgds_layout_put(child);
    return layout;
}

struct mgds_buffer stage_buffer_at(CUdeviceptr at, struct mgds_layout *layout,
                                   size_t count)
{
    struct mgds_buffer buffer = {
        .addr = (void *)(uintptr_t)at, .count = count, .layout = layout};

    assert_int_equal(mgds_ptr_find(&buffer.ptr, (void *)(uintptr_t)at, 1), 0);
    return buffer;
}

struct mgds_bounce *stage_bounce_of(const struct mgds_buffer *buffer,
                                    enum mgds_bounce_form form)
{
    struct mgds_bounce *bounce = NULL;

    assert_int_equal(mgds_bounce_create(&bounce, buffer, form), 0);
    assert_non_null(bounce);
    return bounce;
}
