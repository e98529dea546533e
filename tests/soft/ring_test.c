/* Memory of rings in one process, with two GPUs: what it holds, when it is
 * used again and when it goes, and that nothing of it waits for the program.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "shim/gds/cuda/defer.h"
#include "tests/lib/fault_sweep.h"
#include "tests/soft/ring_place.h"
#include "tests/soft/stage_place.h"

enum {
    REGIONS = 3,
    UNITS = 100,
    ALL = REGIONS * UNITS,
    THREADS = 4,
    STANDING = 2
};

static struct mgds_context *context[2];

static int start(void **state)
{
    stage_start(state);
    for (int i = 0; i < 2; i++)
        context[i] = ring_context_of(stage_primary[i]);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        mgds_context_put(context[i]);
        context[i] = NULL; /* whose reference is left over is a leak */
    }
    mgds_context_fini();
    return 0;
}

/* Each test begins without rings. */
static int no_rings(void **state)
{
    (void)state;
    ring_wait_release();
    mgds_rings_fini();
    mgds_defer_drain();
    return 0;
}

static struct mgds_ring *create(struct mgds_context *ctx, uint32_t regions,
                                uint32_t units)
{
    struct mgds_ring *ring = NULL;

    assert_int_equal(mgds_ring_create(&ring, ctx, regions, units), 0);
    assert_non_null(ring);
    return ring;
}

static struct mgds_ring_handle handle_of(const struct mgds_ring *ring)
{
    struct mgds_ring_handle handle;

    mgds_ring_tell(ring, &handle);
    return handle;
}

static bool same_name(const struct mgds_ring_handle *a,
                      const struct mgds_ring_handle *b)
{
    return memcmp(&a->name, &b->name, sizeof(a->name)) == 0;
}

static void ring_is_zero_and_its_regions_lie_in_a_row(void **state)
{
    struct mgds_ring *ring = create(context[0], REGIONS, UNITS);
    struct mgds_ring_handle handle = handle_of(ring);
    char *first = mgds_ring_region(ring, 0);

    (void)state;
    ring_assert_zero(first, ALL);
    for (uint32_t i = 0; i < REGIONS; i++)
        assert_ptr_equal(mgds_ring_region(ring, i),
                         first + (size_t)i * UNITS * sizeof(struct mgds_unit));
    assert_true(handle.address == (uintptr_t)first);
    assert_int_equal(handle.regions, REGIONS);
    assert_int_equal(handle.units, UNITS);
    mgds_ring_destroy(ring);
    mgds_ring_destroy(NULL);
}

static void memory_is_used_again_and_zero_again(void **state)
{
    struct mgds_ring *ring = create(context[0], REGIONS, UNITS);
    struct mgds_ring_handle old = handle_of(ring), fresh;
    char *addr = mgds_ring_region(ring, 0);

    (void)state;
    ring_fill(addr, ALL, 1);
    mgds_ring_destroy(ring);
    ring_assert_filled(addr, ALL, 1);  /* nothing touches it meanwhile */
    ring = create(context[0], 1, ALL); /* as many bytes, another shape */
    fresh = handle_of(ring);
    assert_ptr_equal(mgds_ring_region(ring, 0), addr);
    assert_int_equal(fresh.regions, 1);
    assert_int_equal(fresh.units, ALL);
    assert_true(same_name(&old, &fresh));
    ring_assert_zero(addr, ALL);
    mgds_ring_destroy(ring);
}

static void memory_serves_its_size_and_its_context_only(void **state)
{
    struct mgds_ring *first = create(context[0], REGIONS, UNITS), *other[4];
    struct mgds_ring_handle handle = handle_of(first), fresh;

    (void)state;
    other[0] = create(context[0], REGIONS, UNITS); /* the first is not free */
    mgds_ring_destroy(first);
    other[1] = create(context[0], REGIONS, UNITS + 1);
    other[2] = create(context[0], REGIONS, UNITS - 1);
    other[3] = create(context[1], REGIONS, UNITS);
    for (int i = 0; i < 4; i++) {
        fresh = handle_of(other[i]);
        assert_false(same_name(&handle, &fresh));
        assert_true(fresh.address != handle.address);
        ring_assert_zero(mgds_ring_region(other[i], 0), REGIONS * fresh.units);
        mgds_ring_destroy(other[i]);
    }
    assert_true(fresh.context != handle.context);
}

static void own_view_is_the_memory_itself(void **state)
{
    struct mgds_ring *ring = create(context[0], REGIONS, UNITS);
    struct mgds_ring_handle handle = handle_of(ring);
    struct mgds_ring_view *view[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            mgds_ring_view_create(&view[i], context[0], &handle, true), 0);
    for (uint32_t i = 0; i < REGIONS; i++) {
        assert_ptr_equal(mgds_ring_view_region(view[0], i),
                         mgds_ring_region(ring, i));
        assert_ptr_equal(mgds_ring_view_region(view[1], i),
                         mgds_ring_region(ring, i));
    }
    mgds_ring_view_destroy(view[0]);
    ring_fill(mgds_ring_view_region(view[1], 2), UNITS, 9);
    mgds_ring_view_destroy(view[1]);
    ring_assert_filled(mgds_ring_region(ring, 2), UNITS, 9);
    ring_assert_zero(mgds_ring_region(ring, 0), 2 * UNITS);
    mgds_ring_destroy(ring);
    mgds_ring_view_destroy(NULL);
}

static bool is_untouched(const void *at, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)at;

    while (bytes > 0 && byte[bytes - 1] == 0x5a)
        bytes--;
    return bytes == 0;
}

/* No handle of memory that is none, no name of a GPU that is none. */
static void what_cannot_be_told_is_not_filled_in(void **state)
{
    struct mgds_context nowhere = *context[0];
    struct mgds_shared none = {.addr = &nowhere, .ctx = context[0]};
    struct mgds_shared_name name;
    struct mgds_gpu_id id;

    (void)state;
    nowhere.device = 99;
    memset(&name, 0x5a, sizeof(name));
    memset(&id, 0x5a, sizeof(id));
    assert_true(mgds_shared_tell(&none, &name) < 0);
    assert_true(mgds_gpu_identify(&id, &nowhere) < 0);
    assert_true(is_untouched(&name, sizeof(name)));
    assert_true(is_untouched(&id, sizeof(id)));
}

static void other_context_of_the_process_has_no_view(void **state)
{
    struct mgds_ring *ring = create(context[0], REGIONS, UNITS);
    struct mgds_ring_handle handle = handle_of(ring);
    struct mgds_ring_view *view = NULL;

    (void)state;
    assert_int_equal(mgds_ring_view_create(&view, context[1], &handle, true),
                     -EXDEV);
    assert_null(view);
    mgds_ring_destroy(ring);
}

static void memory_goes_at_the_safe_point_after_the_end(void **state)
{
    struct mgds_ring *used = create(context[0], REGIONS, UNITS);
    struct mgds_ring *spare = create(context[0], REGIONS, UNITS);
    char *stays = mgds_ring_region(used, 0);
    char *goes = mgds_ring_region(spare, 0);

    (void)state;
    mgds_ring_destroy(spare);
    assert_false(mgds_defer_pending()); /* others may have it mapped */
    mgds_rings_fini();
    assert_true(ring_is_memory(goes));
    assert_int_equal(mgds_defer_drain(), 1);
    assert_false(ring_is_memory(goes));
    assert_true(ring_is_memory(stays));
    ring_assert_zero(stays, ALL);
    mgds_ring_destroy(used);
    mgds_rings_fini();
    assert_int_equal(mgds_defer_drain(), 1);
    assert_false(ring_is_memory(stays));
}

/* Whatever blocks here does so until the limit of the test. */
static void nothing_waits_for_streams_that_stand(void **state)
{
    struct mgds_ring *ring, *more;
    struct mgds_ring_handle handle;
    struct mgds_ring_view *view;
    struct ring_wait wait;

    (void)state;
    if (ring_queues() <= STANDING)
        skip(); /* none would be left: see the next test */
    ring = create(context[0], REGIONS, UNITS);
    handle = handle_of(ring);
    ring_wait_open(&wait, STANDING);
    mgds_ring_destroy(ring);
    ring = create(context[0], REGIONS, UNITS); /* zeroed again */
    more = create(context[0], REGIONS, 2 * UNITS);
    assert_int_equal(mgds_ring_view_create(&view, context[0], &handle, true),
                     0);
    mgds_ring_view_destroy(view);
    mgds_ring_destroy(ring);
    mgds_ring_destroy(more);
    mgds_rings_fini();
    assert_true(mgds_defer_pending());
    assert_true(ring_wait_stands(&wait));
    ring_wait_close(&wait);
    assert_int_equal(mgds_defer_drain(), 2);
}

/* There memory cannot be zeroed before the waits are over, which may depend on
 * the caller: it is told, not kept. */
static void ring_is_refused_while_waits_hold_all_queues(void **state)
{
    struct mgds_ring *spare = create(context[0], REGIONS, UNITS), *ring = NULL;
    struct ring_wait wait;

    (void)state;
    mgds_ring_destroy(spare);
    ring_wait_open(&wait, ring_queues());
    assert_int_equal(mgds_ring_create(&ring, context[0], REGIONS, UNITS),
                     -EBUSY);
    assert_int_equal(mgds_ring_create(&ring, context[0], REGIONS, 2 * UNITS),
                     -EBUSY);
    assert_null(ring);
    assert_true(ring_wait_stands(&wait));
    ring_wait_close(&wait);
    assert_int_equal(mgds_defer_drain(), 2);
    ring = create(context[0], REGIONS, UNITS);
    ring_assert_zero(mgds_ring_region(ring, 0), ALL);
    mgds_ring_destroy(ring);
}

static void make_all(struct mgds_context *ctx)
{
    struct mgds_ring *ring = create(ctx, REGIONS, UNITS);
    struct mgds_ring_handle handle = handle_of(ring);
    struct mgds_ring_view *view;

    assert_int_equal(mgds_ring_view_create(&view, ctx, &handle, true), 0);
    mgds_ring_view_destroy(view);
    mgds_ring_destroy(ring);
    mgds_rings_fini();
    mgds_defer_drain();
}

static void callers_context_stays_current(void **state)
{
    CUcontext currents[] = {stage_primary[0], stage_primary[1], NULL}, now;

    (void)state;
    for (int i = 0; i < 3; i++) {
        OK(cu.cuCtxSetCurrent(currents[i]));
        make_all(context[0]);
        OK(cu.cuCtxGetCurrent(&now));
        assert_ptr_equal(now, currents[i]);
    }
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
}

/* A context that the program makes and destroys. */
static CUcontext make_context(void)
{
    CUcontext handle;

    OK(cu.cuCtxCreate_v2(&handle, 0, 0));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    return handle;
}

static void ring_of_a_destroyed_context_is_not_used_again(void **state)
{
    CUcontext native = make_context();
    struct mgds_context *ctx = ring_context_of(native), *next;
    struct mgds_ring *ring = create(ctx, REGIONS, UNITS);

    (void)state;
    mgds_ring_destroy(ring);
    OK(cu.cuCtxDestroy_v2(native));
    ring = NULL;
    assert_int_equal(mgds_ring_create(&ring, ctx, REGIONS, UNITS), -ESHUTDOWN);
    assert_null(ring);
    native = make_context(); /* perhaps with the handle of the first */
    next = ring_context_of(native);
    ring = create(next, REGIONS, UNITS);
    ring_assert_zero(mgds_ring_region(ring, 0), ALL);
    mgds_ring_destroy(ring);
    mgds_rings_fini();
    assert_int_equal(mgds_defer_drain(), 2);
    mgds_context_put(ctx);
    mgds_context_put(next);
    OK(cu.cuCtxDestroy_v2(native));
}

/* Whatever fails, nothing is left over, and the next ring can be had. */
static int make_and_drop(void *arg)
{
    struct mgds_ring *ring = NULL;
    struct mgds_ring_view *view = NULL;
    struct mgds_ring_handle handle;
    int rc = mgds_ring_create(&ring, context[0], REGIONS, UNITS);

    (void)arg;
    if (rc == 0) {
        handle = handle_of(ring);
        rc = mgds_ring_view_create(&view, context[0], &handle, true);
    }
    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        assert_null(view);
    }
    mgds_ring_view_destroy(view);
    mgds_ring_destroy(ring);
    mgds_rings_fini();
    mgds_defer_drain();
    return rc;
}

static void every_failure_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, make_and_drop, NULL) >= 3);
}

/* Each has rings that nobody else writes to. */
static void *make_many(void *arg)
{
    uint64_t seed = (uintptr_t)arg;

    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    for (uint64_t i = 0; i < 40; i++) {
        struct mgds_ring *ring = create(context[0], REGIONS, UNITS);
        struct mgds_ring_handle handle = handle_of(ring);
        struct mgds_ring_view *view;

        ring_assert_zero(mgds_ring_region(ring, 0), ALL);
        ring_fill(mgds_ring_region(ring, 1), UNITS, seed + i);
        assert_int_equal(
            mgds_ring_view_create(&view, context[0], &handle, true), 0);
        ring_assert_filled(mgds_ring_view_region(view, 1), UNITS, seed + i);
        mgds_ring_view_destroy(view);
        mgds_ring_destroy(ring);
    }
    return NULL;
}

static void threads_never_share_a_ring(void **state)
{
    pthread_t thread[THREADS];

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, make_many,
                                        (void *)((i + 1) << 20)),
                         0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    mgds_rings_fini();
    assert_in_range(mgds_defer_drain(), 1, THREADS);
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, no_rings)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(ring_is_zero_and_its_regions_lie_in_a_row),
        RING_TEST(memory_is_used_again_and_zero_again),
        RING_TEST(memory_serves_its_size_and_its_context_only),
        RING_TEST(own_view_is_the_memory_itself),
        RING_TEST(what_cannot_be_told_is_not_filled_in),
        RING_TEST(other_context_of_the_process_has_no_view),
        RING_TEST(memory_goes_at_the_safe_point_after_the_end),
        RING_TEST(nothing_waits_for_streams_that_stand),
        RING_TEST(ring_is_refused_while_waits_hold_all_queues),
        RING_TEST(callers_context_stays_current),
        RING_TEST(ring_of_a_destroyed_context_is_not_used_again),
        RING_TEST(every_failure_leaves_nothing_behind),
        RING_TEST(threads_never_share_a_ring),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
