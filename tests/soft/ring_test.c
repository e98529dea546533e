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

enum { UNITS = 300, THREADS = 4, STANDING = 2 };

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
    mgds_defer_drain();
    return 0;
}

static struct mgds_ring *create(struct mgds_context *ctx, uint32_t units)
{
    struct mgds_ring *ring = NULL;

    assert_int_equal(mgds_ring_create(&ring, ctx, units), 0);
    assert_non_null(ring);
    return ring;
}

static char *address_of(const struct mgds_ring *ring)
{
    return (char *)(uintptr_t)mgds_ring_address(ring);
}

static void see_no_more(struct mgds_ring_view *view)
{
    mgds_ring_view_destroy(view, NULL, NULL);
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

static void ring_is_memory_of_its_size(void **state)
{
    uint64_t before = mgds_rings_bytes();
    struct mgds_ring *ring = create(context[0], UNITS);
    struct mgds_ring_handle handle = handle_of(ring);

    (void)state;
    ring_fill(address_of(ring), UNITS, 3);
    ring_assert_filled(address_of(ring), UNITS, 3);
    assert_true(handle.address == mgds_ring_address(ring));
    assert_true(handle.context == context[0]->id);
    assert_int_equal(handle.units, UNITS);
    assert_true(mgds_ring_place(ring, 0, UNITS) == handle.address);
    assert_true(mgds_ring_place(ring, 0, UNITS + 1) == 0);
    assert_true(mgds_ring_place(ring, UNITS, 0) == 0);
    assert_true(mgds_rings_bytes() - before ==
                UNITS * sizeof(struct mgds_unit));
    mgds_ring_destroy(ring);
    mgds_ring_destroy(NULL);
}

static void rings_of_two_contexts_are_apart(void **state)
{
    struct mgds_ring *one = create(context[0], UNITS);
    struct mgds_ring *two = create(context[1], UNITS);
    struct mgds_ring_handle first = handle_of(one), second = handle_of(two);

    (void)state;
    assert_false(same_name(&first, &second));
    assert_true(first.address != second.address);
    assert_true(first.context != second.context);
    mgds_ring_destroy(one);
    mgds_ring_destroy(two);
}

static void own_view_is_the_memory_itself(void **state)
{
    struct mgds_ring *ring = create(context[0], UNITS);
    struct mgds_ring_handle handle = handle_of(ring);
    struct mgds_ring_view *view[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            mgds_ring_view_create(&view[i], context[0], &handle, true), 0);
        assert_ptr_equal(mgds_ring_view_address(view[i]), address_of(ring));
    }
    see_no_more(view[0]);
    ring_fill(mgds_ring_view_address(view[1]), UNITS, 9);
    see_no_more(view[1]);
    ring_assert_filled(address_of(ring), UNITS, 9);
    mgds_ring_destroy(ring);
    see_no_more(NULL);
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
    struct mgds_ring *ring = create(context[0], UNITS);
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
    struct mgds_ring *used = create(context[0], UNITS);
    struct mgds_ring *spare = create(context[0], UNITS);
    char *stays = address_of(used), *goes = address_of(spare);
    uint64_t bytes = mgds_rings_bytes();

    (void)state;
    ring_fill(stays, UNITS, 4);
    mgds_ring_destroy(spare);
    assert_true(ring_is_memory(goes));
    assert_true(mgds_rings_bytes() == bytes);
    mgds_defer_drain();
    assert_false(ring_is_memory(goes));
    assert_true(bytes - mgds_rings_bytes() == UNITS * sizeof(struct mgds_unit));
    assert_true(ring_is_memory(stays));
    ring_assert_filled(stays, UNITS, 4);
    mgds_ring_destroy(used);
    mgds_defer_drain();
    assert_false(ring_is_memory(stays));
}

/* Whatever blocks here does so until the limit of the test. */
static void nothing_waits_for_streams_that_stand(void **state)
{
    struct mgds_ring *ring;
    struct mgds_ring_handle handle;
    struct mgds_ring_view *view;
    struct ring_wait wait;

    (void)state;
    ring_wait_open(&wait, ring_queues());
    ring = create(context[0], UNITS);
    handle = handle_of(ring);
    assert_int_equal(mgds_ring_view_create(&view, context[0], &handle, true),
                     0);
    see_no_more(view);
    mgds_ring_destroy(ring);
    assert_true(mgds_defer_pending());
    assert_true(ring_wait_stands(&wait));
    ring_wait_close(&wait);
    assert_true(mgds_defer_drain() > 0);
}

static void make_all(struct mgds_context *ctx)
{
    struct mgds_ring *ring = create(ctx, UNITS);
    struct mgds_ring_handle handle = handle_of(ring);
    struct mgds_ring_view *view;

    assert_int_equal(mgds_ring_view_create(&view, ctx, &handle, true), 0);
    see_no_more(view);
    mgds_ring_destroy(ring);
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
    struct mgds_ring *ring = create(ctx, UNITS);

    (void)state;
    mgds_ring_destroy(ring);
    OK(cu.cuCtxDestroy_v2(native));
    ring = NULL;
    assert_int_equal(mgds_ring_create(&ring, ctx, UNITS), -ESHUTDOWN);
    assert_null(ring);
    native = make_context(); /* perhaps with the handle of the first */
    next = ring_context_of(native);
    ring = create(next, UNITS);
    mgds_ring_destroy(ring);
    mgds_defer_drain();
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
    int rc = mgds_ring_create(&ring, context[0], UNITS);

    (void)arg;
    if (rc == 0) {
        handle = handle_of(ring);
        rc = mgds_ring_view_create(&view, context[0], &handle, true);
    }
    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        assert_null(view);
    }
    see_no_more(view);
    mgds_ring_destroy(ring);
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
        struct mgds_ring *ring = create(context[0], UNITS);
        struct mgds_ring_handle handle = handle_of(ring);
        struct mgds_ring_view *view;

        ring_fill(address_of(ring), UNITS, seed + i);
        assert_int_equal(
            mgds_ring_view_create(&view, context[0], &handle, true), 0);
        ring_assert_filled(mgds_ring_view_address(view), UNITS, seed + i);
        see_no_more(view);
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
    mgds_defer_drain();
    assert_true(mgds_rings_bytes() == 0);
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, no_rings)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(ring_is_memory_of_its_size),
        RING_TEST(rings_of_two_contexts_are_apart),
        RING_TEST(own_view_is_the_memory_itself),
        RING_TEST(what_cannot_be_told_is_not_filled_in),
        RING_TEST(other_context_of_the_process_has_no_view),
        RING_TEST(memory_goes_at_the_safe_point_after_the_end),
        RING_TEST(nothing_waits_for_streams_that_stand),
        RING_TEST(callers_context_stays_current),
        RING_TEST(ring_of_a_destroyed_context_is_not_used_again),
        RING_TEST(every_failure_leaves_nothing_behind),
        RING_TEST(threads_never_share_a_ring),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
