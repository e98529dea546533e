/* Staged buffers where something is out of the ordinary: absolute addresses,
 * memory and contexts that go, threads, memory that runs out. Two devices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "device/kernels.h"
#include "device/kernels/pack_abi.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/mem/copyqueue.h"
#include "tests/lib/fault_sweep.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_door.h"
#include "tests/soft/stage_place.h"

static int forget_all(void **state)
{
    (void)state;
    mgds_copyqueues_fini();
    mgds_defer_drain();
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    return 0;
}

static CUcontext current(void)
{
    CUcontext ctx;

    OK(cu.cuCtxGetCurrent(&ctx));
    return ctx;
}

static unsigned char *bytes_in(const struct mgds_bounce *bounce)
{
    return (unsigned char *)mgds_bounce_base(bounce);
}

static void copy_down(struct mgds_bounce *bounce)
{
    assert_int_equal(mgds_bounce_down(bounce, 0, SIZE_MAX), 0);
    assert_int_equal(mgds_bounce_wait(bounce, NULL), 0);
}

static void copy_up(struct mgds_bounce *bounce, size_t bytes)
{
    assert_int_equal(mgds_bounce_up(bounce, 0, bytes), 0);
    assert_int_equal(mgds_bounce_wait(bounce, NULL), 0);
}

/* A bounce over the first bytes of the place's middle. */
static struct mgds_bounce *plain_bounce(const struct stage_place *place,
                                        size_t bytes)
{
    struct mgds_layout *layout = stage_bytes_of(1);
    struct mgds_buffer buffer =
        stage_buffer_at(place->gpu + ORIGIN, layout, bytes);
    struct mgds_bounce *bounce = stage_bounce_of(&buffer, MGDS_BOUNCE_PACKED);

    mgds_layout_put(layout);
    return bounce;
}

static void buffers_without_bytes_need_nothing(void **state)
{
    struct stage_place place;
    struct mgds_bounce *bounce;

    (void)state;
    stage_open_place(&place);
    bounce = plain_bounce(&place, 0);
    assert_int_equal(mgds_bounce_bytes(bounce), 0);
    assert_non_null(mgds_bounce_base(bounce));
    assert_int_equal(mgds_bounce_poll(bounce), 1);
    copy_down(bounce);
    copy_up(bounce, SIZE_MAX);
    assert_int_equal(mgds_stats_value(MGDS_STAT_stage_copies), 0);
    mgds_bounce_destroy(bounce);
    mgds_bounce_destroy(NULL);
    stage_close_place(&place);
}

/* What MPI_BOTTOM and a struct type mean: two allocations of two devices and
 * host memory, one buffer. */
static void absolute_addresses_in_several_allocations_are_staged(void **state)
{
    const size_t bytes = 1000;
    struct stage_place place[2];
    unsigned char host[1000], *bounced;
    const size_t blocklength[] = {bytes, bytes, bytes};
    ptrdiff_t at[3];
    struct mgds_layout *byte = stage_bytes_of(1), *layout;
    struct mgds_buffer buffer = {.count = 1};
    struct mgds_bounce *bounce;

    (void)state;
    for (int i = 0; i < 2; i++) {
        OK(cu.cuCtxSetCurrent(stage_primary[i]));
        stage_open_place(&place[i]);
        at[i] = (ptrdiff_t)place[i].gpu + ORIGIN;
    }
    at[2] = (ptrdiff_t)(uintptr_t)host;
    memset(host, 0x42, bytes);
    assert_int_equal(mgds_layout_hindexed(&layout, byte, 3, blocklength, at),
                     0);
    assert_int_equal(mgds_ptr_find(&buffer.ptr, (void *)at[0], 1), 0);
    buffer.layout = layout;
    bounce = stage_bounce_of(&buffer, MGDS_BOUNCE_PACKED);
    copy_down(bounce);
    bounced = bytes_in(bounce);
    assert_memory_equal(bounced, place[0].want + ORIGIN, bytes);
    assert_memory_equal(bounced + bytes, place[1].want + ORIGIN, bytes);
    assert_memory_equal(bounced + 2 * bytes, host, bytes);
    memset(bounced, 0x24, 3 * bytes);
    copy_up(bounce, 2 * bytes + 1);
    assert_int_equal(host[0], 0x24);
    assert_int_equal(host[1], 0x42);
    mgds_bounce_destroy(bounce);
    mgds_layout_put(layout);
    mgds_layout_put(byte);
    for (int i = 0; i < 2; i++) {
        memset(place[i].want + ORIGIN, 0x24, bytes);
        stage_assert_place(&place[i]);
        stage_close_place(&place[i]);
    }
}

/* The farther ends of the address space stand for what chance brings: a program
 * at addresses above or below those of the pinned memory. */
static void offsets_may_lead_anywhere(void **state)
{
    const size_t bytes = 1000;
    const ptrdiff_t far[] = {PTRDIFF_MAX / 2, -(PTRDIFF_MAX / 2)};
    struct stage_place place;
    struct mgds_layout *byte = stage_bytes_of(1), *layout;

    (void)state;
    stage_open_place(&place);
    for (int i = 0; i < 4; i++) {
        struct mgds_buffer buffer = {.count = 1};
        struct mgds_bounce *bounce;

        assert_int_equal(
            mgds_layout_hindexed(&layout, byte, 1, &bytes, &far[i / 2]), 0);
        buffer.layout = layout;
        buffer.addr =
            (void *)((uintptr_t)place.gpu + ORIGIN - (uintptr_t)far[i / 2]);
        assert_int_equal(
            mgds_ptr_find(&buffer.ptr, (void *)(place.gpu + ORIGIN), 1), 0);
        bounce = stage_bounce_of(&buffer, i % 2 ? MGDS_BOUNCE_MIRROR
                                                : MGDS_BOUNCE_PACKED);
        copy_down(bounce);
        assert_memory_equal((uintptr_t)bytes_in(bounce) +
                                (i % 2 ? (uintptr_t)far[i / 2] : 0),
                            place.want + ORIGIN, bytes);
        copy_up(bounce, SIZE_MAX);
        mgds_bounce_destroy(bounce);
        mgds_layout_put(layout);
    }
    stage_assert_place(&place);
    mgds_layout_put(byte);
    stage_close_place(&place);
}

static void callers_context_is_left_alone(void **state)
{
    const CUcontext before[] = {NULL, stage_primary[1]};
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    for (int i = 0; i < 2; i++) {
        struct mgds_bounce *bounce;

        OK(cu.cuCtxSetCurrent(before[i]));
        bounce = plain_bounce(&place, 100);
        copy_down(bounce);
        copy_up(bounce, 10);
        mgds_bounce_destroy(bounce);
        assert_ptr_equal(current(), before[i]);
    }
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    stage_close_place(&place);
}

static void freed_memory_is_an_error(void **state)
{
    struct mgds_layout *layout =
        stage_hvector_of(stage_bytes_of(8), 500, 1, 24);
    struct stage_place place;
    struct mgds_bounce *plain, *packed;
    struct mgds_buffer buffer;
    uint64_t up, down;

    (void)state;
    stage_open_place(&place);
    plain = plain_bounce(&place, 100);
    buffer = stage_buffer_at(place.gpu + ORIGIN, layout, 1);
    packed = stage_bounce_of(&buffer, MGDS_BOUNCE_PACKED);
    copy_down(plain);
    copy_down(packed);
    stage_close_place(&place);
    up = mgds_stats_value(MGDS_STAT_stage_bytes_up);
    down = mgds_stats_value(MGDS_STAT_stage_bytes_down);
    assert_int_equal(mgds_bounce_up(plain, 0, 100), -EFAULT);
    assert_int_equal(mgds_bounce_up(packed, 0, 100), -EFAULT);
    assert_int_equal(mgds_bounce_down(plain, 0, 100), -EFAULT);
    assert_int_equal(mgds_stats_value(MGDS_STAT_stage_bytes_up), up);
    assert_int_equal(mgds_stats_value(MGDS_STAT_stage_bytes_down), down);
    assert_int_equal(mgds_bounce_poll(plain), 1);
    mgds_bounce_destroy(plain);
    mgds_bounce_destroy(packed);
    mgds_layout_put(layout);
    OK(cu.cuStreamSynchronize(NULL)); /* the context works */
}

static void context_that_goes_is_an_error(void **state)
{
    struct stage_place place;
    struct mgds_bounce *idle, *busy;
    CUcontext own;

    (void)state;
    OK(cu.cuCtxCreate_v2(&own, 0, 1));
    stage_open_place(&place);
    idle = plain_bounce(&place, 5000);
    busy = plain_bounce(&place, 500000);
    copy_down(idle);
    assert_int_equal(mgds_bounce_down(busy, 0, SIZE_MAX), 0);
    OK(cu.cuCtxDestroy_v2(own));
    free(place.want);
    assert_int_equal(mgds_bounce_poll(busy), -ESHUTDOWN);
    assert_int_equal(mgds_bounce_wait(busy, NULL), 0); /* told once */
    assert_int_equal(mgds_bounce_up(idle, 0, 5000), -ESHUTDOWN);
    assert_int_equal(mgds_bounce_down(idle, 0, 5000), -ESHUTDOWN);
    mgds_bounce_destroy(idle);
    mgds_bounce_destroy(busy);
}

/* A kernel of the program's that touches what is not there. Its table is good
 * memory of the GPU, and whole: a kernel that cannot read it may as well go on
 * for ever. */
static void break_context(CUcontext ctx)
{
    const struct mgds_pack_node node = {
        .kind = MGDS_PACK_SPAN, .width = 8, .rows = 1};
    struct mgds_pack_args args = {
        .user = 64, .nodes = 1, .bytes = 8, .unit = 1};
    void *params[] = {&args};
    CUdeviceptr table;
    CUmodule module;
    CUfunction function;

    OK(cu.cuCtxSetCurrent(ctx));
    OK(cu.cuMemAlloc_v2(&table, sizeof(node)));
    OK(cu.cuMemcpy(table, (CUdeviceptr)(uintptr_t)&node, sizeof(node)));
    args.table = table;
    OK(cu.cuModuleLoadData(&module, mgds_kernel_image));
    OK(cu.cuModuleGetFunction(&function, module, "mgds_pack_kernel"));
    OK(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_not_equal(cu.cuStreamSynchronize(NULL), CUDA_SUCCESS);
}

/* A driver may still tell the context's id, or no longer. */
static void assert_broken(int rc)
{
    if (rc != -ESHUTDOWN)
        assert_int_equal(rc, -EIO);
}

/* All waits here are for the driver, and end with its error: copies that were
 * under way, and such as are asked for later. */
static void context_that_the_program_broke_is_an_error(void **state)
{
    struct stage_place place;
    struct mgds_bounce *idle, *busy, *later = NULL;
    struct mgds_buffer buffer;
    struct mgds_layout *byte = stage_bytes_of(1);
    CUcontext own;
    int rc;

    (void)state;
    OK(cu.cuCtxCreate_v2(&own, 0, 1));
    stage_open_place(&place);
    buffer = stage_buffer_at(place.gpu, byte, 100);
    idle = stage_bounce_of(&buffer, MGDS_BOUNCE_PACKED);
    busy = plain_bounce(&place, 500000);
    assert_int_equal(mgds_bounce_down(busy, 0, SIZE_MAX), 0);
    break_context(own);
    rc = mgds_bounce_wait(busy, NULL); /* it may have ended before */
    if (rc != 0)
        assert_broken(rc);
    assert_int_equal(mgds_bounce_wait(busy, NULL), 0); /* told once */
    mgds_bounce_destroy(busy);
    assert_broken(mgds_bounce_up(idle, 0, 100));
    assert_int_equal(mgds_bounce_poll(idle), 1); /* nothing was queued */
    mgds_bounce_destroy(idle);
    rc = mgds_bounce_create(&later, &buffer, MGDS_BOUNCE_PACKED);
    if (rc == 0)
        rc = mgds_bounce_down(later, 0, 100);
    assert_broken(rc);
    mgds_bounce_destroy(later);
    cu.cuCtxDestroy_v2(own);
    mgds_layout_put(byte);
    free(place.want);
}

/* In a lost process any call may fail. */
static int forget_what_broke(void **state)
{
    (void)state;
    mgds_copyqueues_fini();
    mgds_defer_drain();
    return 0;
}

static void another_context_is_met_after_one_went(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct stage_place place;
        struct mgds_bounce *bounce;
        CUcontext own;

        OK(cu.cuCtxCreate_v2(&own, 0, i % 2));
        stage_open_place(&place);
        bounce = plain_bounce(&place, 5000);
        copy_down(bounce);
        assert_memory_equal(bytes_in(bounce), place.want + ORIGIN, 5000);
        OK(cu.cuCtxDestroy_v2(own));
        mgds_bounce_destroy(bounce);
        free(place.want);
    }
}

/* Work under way keeps its memory from the next bounce. */
static void bounce_may_be_destroyed_while_it_copies(void **state)
{
    enum { LAPS = 40, BYTES = 200000 };
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    for (int i = 0; i < LAPS; i++) {
        struct mgds_bounce *leave = plain_bounce(&place, BYTES), *stay;

        assert_int_equal(mgds_bounce_down(leave, 0, SIZE_MAX), 0);
        mgds_bounce_destroy(leave);
        stay = plain_bounce(&place, BYTES);
        memset(bytes_in(stay), i, BYTES);
        copy_up(stay, BYTES);
        memset(place.want + ORIGIN, i, BYTES);
        stage_assert_place(&place);
        mgds_bounce_destroy(stay);
    }
    stage_close_place(&place);
}

static void same_memory_and_event_serve_again(void **state)
{
    uint64_t made = mgds_stats_value(MGDS_STAT_stage_slabs_made), reused;
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    reused = mgds_stats_value(MGDS_STAT_stage_pieces_reused);
    for (int i = 0; i < 100; i++) {
        struct mgds_bounce *bounce = plain_bounce(&place, 8);

        copy_down(bounce);
        mgds_bounce_destroy(bounce);
    }
    assert_int_equal(mgds_stats_value(MGDS_STAT_stage_slabs_made), made + 1);
    assert_int_equal(mgds_stats_value(MGDS_STAT_stage_pieces_reused),
                     reused + 99);
    stage_close_place(&place);
}

static void trim_gives_idle_memory_back(void **state)
{
    struct stage_place place;
    struct mgds_bounce *bounce;

    (void)state;
    stage_open_place(&place);
    bounce = plain_bounce(&place, 8);
    assert_true(mgds_stats_value(MGDS_STAT_stage_pinned) > 0);
    mgds_copyqueues_trim();
    mgds_defer_drain();
    assert_true(mgds_stats_value(MGDS_STAT_stage_pinned) > 0);
    copy_down(bounce);
    mgds_bounce_destroy(bounce);
    mgds_copyqueues_trim();
    mgds_defer_drain();
    assert_int_equal(mgds_stats_value(MGDS_STAT_stage_pinned), 0);
    assert_true(mgds_stats_value(MGDS_STAT_stage_pinned_most) > 0);
    stage_close_place(&place);
}

enum { THREADS = 4, LAPS = 60 };

/* Messages from one place to another, packed by kernels and copies. */
static void stage_one(struct stage_place *place, unsigned lap)
{
    size_t count = 1 + lap * 13 % 300;
    struct mgds_layout *layout =
        lap % 2 ? stage_bytes_of(64)
                : stage_hvector_of(stage_bytes_of(8), 40, 1, 24);
    struct mgds_buffer buffer =
        stage_buffer_at(place->gpu + ORIGIN, layout, count);
    struct mgds_bounce *bounce = stage_bounce_of(
        &buffer, lap % 3 ? MGDS_BOUNCE_PACKED : MGDS_BOUNCE_MIRROR);
    int rc;

    copy_down(bounce);
    assert_int_equal(bytes_in(bounce)[7], place->want[ORIGIN + 7]);
    bytes_in(bounce)[3] = place->want[ORIGIN + 3] = (unsigned char)lap;
    assert_int_equal(mgds_bounce_up(bounce, 2, 3), 0);
    do
        rc = mgds_bounce_poll(bounce);
    while (rc == 0 && lap % 4);
    assert_true(rc >= 0);
    mgds_bounce_destroy(bounce);
    mgds_layout_put(layout);
}

static void *stage_many(void *arg)
{
    struct stage_place place;

    OK(cu.cuCtxSetCurrent(stage_primary[(uintptr_t)arg % 2]));
    stage_open_place(&place);
    for (unsigned lap = 0; lap < LAPS; lap++) {
        stage_one(&place, lap);
        if (lap % 16 == 0)
            mgds_copyqueues_trim();
    }
    /* a copy up that was not waited for is ahead of this one */
    stage_one(&place, 1);
    stage_assert_place(&place);
    stage_close_place(&place);
    return NULL;
}

static void threads_stage_at_the_same_time(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, stage_many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

struct sweep {
    struct stage_place place;
    struct mgds_layout *layout;
};

static int stage_and_forget(void *arg)
{
    struct sweep *sweep = (struct sweep *)arg;
    struct mgds_buffer buffer =
        stage_buffer_at(sweep->place.gpu + ORIGIN, sweep->layout, 3);
    struct mgds_bounce *bounce;
    int rc = mgds_bounce_create(&bounce, &buffer, MGDS_BOUNCE_PACKED);

    if (rc == 0) {
        copy_down(bounce);
        assert_int_equal(bytes_in(bounce)[0], sweep->place.want[ORIGIN]);
        mgds_bounce_destroy(bounce);
    }
    mgds_copyqueues_fini();
    mgds_defer_drain();
    mgds_context_fini();
    return rc;
}

static void without_memory_nothing_leaks(void **state)
{
    const ptrdiff_t at[] = {0, 100, 250, 300, 777, 900};
    const size_t blocklength[] = {1, 2, 1, 2, 1, 1};
    struct mgds_layout *byte = stage_bytes_of(8);
    struct sweep sweep;

    (void)state;
    forget_all(NULL);
    stage_open_place(&sweep.place);
    assert_int_equal(
        mgds_layout_hindexed(&sweep.layout, byte, 6, blocklength, at), 0);
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, stage_and_forget, &sweep) >
                6);
    mgds_layout_put(sweep.layout);
    mgds_layout_put(byte);
    stage_close_place(&sweep.place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, forget_all)
        TEST(buffers_without_bytes_need_nothing),
        TEST(absolute_addresses_in_several_allocations_are_staged),
        TEST(offsets_may_lead_anywhere),
        TEST(callers_context_is_left_alone),
        TEST(freed_memory_is_an_error),
        TEST(context_that_goes_is_an_error),
        TEST(another_context_is_met_after_one_went),
        TEST(bounce_may_be_destroyed_while_it_copies),
        TEST(same_memory_and_event_serve_again),
        TEST(trim_gives_idle_memory_back),
        TEST(threads_stage_at_the_same_time),
        TEST(without_memory_nothing_leaks),
        /* The last: a device fault loses the whole process. */
        cmocka_unit_test_teardown(context_that_the_program_broke_is_an_error,
                                  forget_what_broke),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, NULL);
}
