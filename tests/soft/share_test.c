/* The program's own memory between two processes: one tells of it, the other
 * has it mapped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/mem/import.h"
#include "tests/soft/ring_pair.h"
#include "tests/soft/stage_place.h"

enum {
    UNITS = 1000,
    HALF = UNITS / 2,
    BYTES = UNITS * sizeof(struct mgds_unit),
    THREADS = 4,
    ROUNDS = 2000
};

#define PAGE ((size_t)2 << 20) /* of memory that is mapped by the program */

static void run(void (*owner)(void **state), void (*viewer)(void **state))
{
    struct ring_part one = {"a", owner};
    struct ring_part two = {"a", viewer};

    ring_pair_run(&one, &two);
}

static char *allocate(void)
{
    CUdeviceptr at;

    OK(cu.cuMemAlloc_v2(&at, BYTES));
    return (char *)(uintptr_t)at;
}

static void release(char *at)
{
    OK(cu.cuMemFree_v2((CUdeviceptr)(uintptr_t)at));
}

static int export(struct mgds_export_handle *out, const char *at)
{
    struct mgds_ptr ptr;

    assert_int_equal(mgds_ptr_find(&ptr, at, 1), 0);
    return mgds_export_of(out, &ptr);
}

static struct mgds_export_handle export_and_tell(const char *at)
{
    struct mgds_export_handle handle;

    assert_int_equal(export(&handle, at), 0);
    ring_send(&handle, sizeof(handle));
    return handle;
}

static struct mgds_export_handle heard(void)
{
    struct mgds_export_handle handle;

    ring_receive(&handle, sizeof(handle));
    return handle;
}

static struct mgds_import *import(struct mgds_context *ctx,
                                  const struct mgds_export_handle *handle)
{
    struct mgds_import *import = NULL;

    assert_int_equal(mgds_import_create(&import, ctx, handle), 0);
    assert_non_null(import);
    return import;
}

static void be_refused(const struct mgds_export_handle *handle)
{
    struct mgds_import *import = NULL;

    assert_true(mgds_import_create(&import, ring_context[0], handle) < 0);
    assert_null(import);
    mgds_imports_fini();
    assert_false(mgds_defer_pending());
}

/* Has memory until the other is done with it. */
static void have_memory(void **state)
{
    char *at = allocate();

    (void)state;
    ring_fill(at, UNITS, 5);
    export_and_tell(at);
    ring_meet();
    release(at);
}

static void tell_and_look(void **state)
{
    char *at = allocate();
    char *middle = at + HALF * sizeof(struct mgds_unit);
    struct mgds_export_handle handle;

    (void)state;
    ring_fill(at, UNITS, 5);
    handle = export_and_tell(middle);
    assert_true(handle.base == (uintptr_t)at);
    assert_int_equal(handle.size, BYTES);
    ring_meet(); /* the other wrote */
    ring_assert_filled(at, HALF, 5);
    ring_assert_filled(middle, HALF, 7);
    release(at);
}

static void look_and_write(void **state)
{
    struct mgds_export_handle handle = heard();
    struct mgds_import *one = import(ring_context[0], &handle);
    char *at = mgds_import_addr(one);

    (void)state;
    ring_assert_filled(at, UNITS, 5);
    ring_fill(at + HALF * sizeof(struct mgds_unit), HALF, 7);
    ring_meet();
    mgds_import_put(one);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_false(ring_is_mapped(at));
}

static void import_shows_the_memory_from_its_base_on(void **state)
{
    (void)state;
    run(tell_and_look, look_and_write);
}

/* The old one is still mapped over there when the new one is told. */
static void free_and_allocate(void **state)
{
    char *at = allocate();
    struct mgds_export_handle old = export_and_tell(at), fresh;
    uint64_t before = mgds_exports_stale();

    (void)state;
    ring_meet();
    release(at);
    at = allocate();
    ring_fill(at, UNITS, 9);
    fresh = export_and_tell(at);
    assert_true(mgds_export_is_stale(old.id));
    assert_false(mgds_export_is_stale(fresh.id));
    assert_true(mgds_exports_stale() == before + 1);
    ring_meet();
    release(at);
    mgds_exports_sweep(1);
    assert_true(mgds_export_is_stale(fresh.id));
}

static void import_both(void **state)
{
    struct mgds_export_handle handle = heard();
    struct mgds_import *old = import(ring_context[0], &handle), *fresh;

    (void)state;
    ring_meet();
    handle = heard();
    fresh = import(ring_context[0], &handle);
    mgds_import_put(old);
    assert_int_equal(mgds_defer_drain(), 1);
    ring_assert_filled(mgds_import_addr(fresh), UNITS, 9);
    mgds_import_put(fresh);
    ring_meet();
}

static void memory_allocated_anew_is_mapped_anew(void **state)
{
    (void)state;
    run(free_and_allocate, import_both);
}

static void import_for_both(void **state)
{
    struct mgds_export_handle handle = heard();
    struct mgds_import *of[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        of[i] = import(ring_context[i], &handle);
    assert_ptr_not_equal(mgds_import_addr(of[0]), mgds_import_addr(of[1]));
    mgds_import_put(of[0]);
    assert_int_equal(mgds_defer_drain(), 1);
    OK(cu.cuCtxSetCurrent(stage_primary[1]));
    ring_assert_filled(mgds_import_addr(of[1]), UNITS, 5);
    mgds_import_put(of[1]);
    assert_int_equal(mgds_defer_drain(), 1);
    ring_meet();
}

static void every_gpu_has_its_own_mapping(void **state)
{
    (void)state;
    run(have_memory, import_for_both);
}

static void import_elsewhere(void **state)
{
    struct mgds_export_handle handle = heard();

    (void)state;
    be_refused(&handle);
    ring_meet();
}

static void memory_of_another_host_is_refused(void **state)
{
    struct ring_part one = {"a", have_memory};
    struct ring_part two = {"b", import_elsewhere};

    (void)state;
    ring_pair_run(&one, &two);
}

static void tell_and_die(void **state)
{
    (void)state;
    export_and_tell(allocate());
}

static void come_late(void **state)
{
    struct mgds_export_handle handle = heard();

    (void)state;
    ring_await_end();
    be_refused(&handle);
}

static void memory_of_a_process_that_is_gone_is_refused(void **state)
{
    (void)state;
    run(tell_and_die, come_late);
}

static void tell_and_free(void **state)
{
    char *at = allocate();

    (void)state;
    export_and_tell(at);
    release(at);
    ring_meet();
    ring_meet();
}

static void come_after_the_end(void **state)
{
    struct mgds_export_handle handle = heard();

    (void)state;
    ring_meet();
    be_refused(&handle);
    memset(&handle.name, 0x5a, sizeof(handle.name));
    be_refused(&handle);
    ring_meet();
}

static void memory_that_is_freed_and_nonsense_are_refused(void **state)
{
    (void)state;
    run(tell_and_free, come_after_the_end);
}

/* Whatever blocks here does so until the limit of the test. */
static void tell_while_streams_stand(void **state)
{
    char *at = allocate(), *freed = allocate();
    struct mgds_export_handle handle, gone;
    struct ring_wait wait;

    (void)state;
    ring_fill(at, UNITS, 5);
    assert_int_equal(export(&gone, freed), 0);
    release(freed);
    ring_wait_open(&wait, 2);
    handle = export_and_tell(at);
    assert_true(mgds_export_is_stale(gone.id));
    assert_false(mgds_export_is_stale(handle.id));
    mgds_exports_sweep(10);
    mgds_exports_fini();
    ring_meet();
    assert_true(ring_wait_stands(&wait));
    ring_wait_close(&wait);
    release(at);
}

static void import_while_streams_stand(void **state)
{
    struct mgds_export_handle handle = heard();
    struct mgds_import *one;
    struct ring_wait wait;
    char *at;

    (void)state;
    ring_wait_open(&wait, 2);
    one = import(ring_context[0], &handle);
    at = mgds_import_addr(one);
    mgds_import_put(one);
    one = import(ring_context[0], &handle);
    assert_ptr_equal(mgds_import_addr(one), at);
    mgds_import_put(one);
    assert_true(mgds_defer_pending());
    mgds_imports_fini();
    assert_true(ring_wait_stands(&wait));
    ring_wait_close(&wait);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_false(ring_is_mapped(at));
    ring_meet();
}

static void nothing_waits_for_streams_that_stand(void **state)
{
    (void)state;
    if (ring_queues() <= 2)
        skip();
    run(tell_while_streams_stand, import_while_streams_stand);
}

static CUcontext make_context(void)
{
    CUcontext handle;

    OK(cu.cuCtxCreate_v2(&handle, 0, 0));
    return handle;
}

static void tell_and_lose_the_context(void **state)
{
    CUcontext native = make_context();
    struct mgds_export_handle handle = export_and_tell(allocate());

    (void)state;
    ring_meet(); /* the other has it mapped */
    OK(cu.cuCtxDestroy_v2(native));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    assert_false(mgds_export_is_stale(handle.id));
    mgds_exports_sweep(1);
    assert_true(mgds_export_is_stale(handle.id));
    ring_meet();
}

static void import_and_lose_the_context(void **state)
{
    struct mgds_export_handle handle = heard();
    CUcontext native = make_context();
    struct mgds_context *ctx = ring_context_of(native);
    struct mgds_import *lost = import(ctx, &handle), *none = NULL;
    struct mgds_import *kept = import(ring_context[1], &handle);

    (void)state;
    ring_meet();
    OK(cu.cuCtxDestroy_v2(native));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    handle.id++;
    assert_int_equal(mgds_import_create(&none, ctx, &handle), -ESHUTDOWN);
    mgds_import_put(lost);
    mgds_import_put(kept);
    assert_int_equal(mgds_defer_drain(), 2);
    assert_int_equal(mgds_import_create(&none, ctx, &handle), -ESHUTDOWN);
    assert_null(none);
    mgds_context_put(ctx);
    ring_meet();
}

static void contexts_that_go_take_along_what_is_theirs(void **state)
{
    (void)state;
    run(tell_and_lose_the_context, import_and_lose_the_context);
}

static void refuse(const void *at)
{
    struct mgds_export_handle handle;

    assert_int_equal(export(&handle, (const char *)at), -ENOTSUP);
    assert_int_equal(export(&handle, (const char *)at), -ENOTSUP);
}

static void refuse_pool(void)
{
    CUdeviceptr at;

    OK(cu.cuMemAllocAsync(&at, BYTES, NULL));
    refuse((void *)(uintptr_t)at);
    OK(cu.cuMemFreeAsync(at, NULL));
}

static void refuse_mapped(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;

    OK(cu.cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    OK(cu.cuMemCreate(&handle, PAGE, &prop, 0));
    OK(cu.cuMemMap(at, PAGE, 0, handle, 0));
    refuse((void *)(uintptr_t)at);
    OK(cu.cuMemUnmap(at, PAGE));
    OK(cu.cuMemRelease(handle));
    OK(cu.cuMemAddressFree(at, PAGE));
}

static void refuse_what_the_cpu_sees(void)
{
    CUdeviceptr managed;
    void *pinned;

    OK(cu.cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    OK(cu.cuMemHostAlloc(&pinned, BYTES, 0));
    refuse((void *)(uintptr_t)managed);
    refuse(pinned);
    refuse(&pinned);
    OK(cu.cuMemFree_v2(managed));
    OK(cu.cuMemFreeHost(pinned));
}

static void refuse_all_kinds(void **state)
{
    struct mgds_export_handle handle = heard();
    struct mgds_import *one = import(ring_context[0], &handle);

    (void)state;
    refuse(mgds_import_addr(one));
    refuse_pool();
    refuse_mapped();
    refuse_what_the_cpu_sees();
    mgds_import_put(one);
    ring_meet();
}

static void memory_of_other_kinds_is_not_told(void **state)
{
    (void)state;
    run(have_memory, refuse_all_kinds);
}

/* A capture of the program's goes on in this thread, and is as it was. */
static void import_while_capturing(void **state)
{
    struct mgds_export_handle handle = heard(), mine;
    char *at = allocate();
    struct mgds_import *one;
    CUstream stream;
    CUgraph graph;

    (void)state;
    OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(export(&mine, at), 0);
    one = import(ring_context[0], &handle);
    mgds_exports_sweep(2);
    mgds_import_put(one);
    OK(cu.cuStreamEndCapture(stream, &graph));
    OK(cu.cuGraphDestroy(graph));
    OK(cu.cuStreamDestroy_v2(stream));
    release(at);
    ring_meet();
}

static void captures_go_on(void **state)
{
    (void)state;
    run(have_memory, import_while_capturing);
}

static void import_from_anywhere(void **state)
{
    CUcontext currents[] = {stage_primary[0], stage_primary[1], NULL}, now;
    struct mgds_export_handle handle = heard(), mine;
    char *at = allocate();

    (void)state;
    for (int i = 0; i < 3; i++) {
        OK(cu.cuCtxSetCurrent(currents[i]));
        mgds_import_put(import(ring_context[0], &handle));
        assert_int_equal(mgds_defer_drain(), 1);
        mgds_exports_fini();
        assert_int_equal(export(&mine, at), 0);
        mgds_exports_sweep(1);
        OK(cu.cuCtxGetCurrent(&now));
        assert_ptr_equal(now, currents[i]);
    }
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    release(at);
    ring_meet();
}

static void callers_context_stays_current(void **state)
{
    (void)state;
    run(have_memory, import_from_anywhere);
}

static unsigned running; /* atomic */

static void *import_often(void *arg)
{
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    for (int i = 0; i < ROUNDS; i++) {
        struct mgds_import *one =
            import(ring_context[0], (const struct mgds_export_handle *)arg);

        if (i % 64 == 0)
            ring_assert_filled(mgds_import_addr(one), UNITS, 5);
        mgds_import_put(one);
    }
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* What is closed is nobody's; what somebody has stays. */
static void import_by_threads(void **state)
{
    struct mgds_export_handle handle = heard();
    pthread_t thread[THREADS];
    struct mgds_import *one;
    char *at;

    (void)state;
    running = THREADS;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, import_often, &handle), 0);
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0) {
        mgds_defer_drain();
        sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    one = import(ring_context[0], &handle);
    at = mgds_import_addr(one);
    mgds_import_put(one);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_false(ring_is_mapped(at));
    ring_meet();
}

static void threads_share_one_mapping(void **state)
{
    (void)state;
    run(have_memory, import_by_threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_shows_the_memory_from_its_base_on),
        cmocka_unit_test(memory_allocated_anew_is_mapped_anew),
        cmocka_unit_test(every_gpu_has_its_own_mapping),
        cmocka_unit_test(memory_of_another_host_is_refused),
        cmocka_unit_test(memory_of_a_process_that_is_gone_is_refused),
        cmocka_unit_test(memory_that_is_freed_and_nonsense_are_refused),
        cmocka_unit_test(nothing_waits_for_streams_that_stand),
        cmocka_unit_test(contexts_that_go_take_along_what_is_theirs),
        cmocka_unit_test(memory_of_other_kinds_is_not_told),
        cmocka_unit_test(captures_go_on),
        cmocka_unit_test(callers_context_stays_current),
        cmocka_unit_test(threads_share_one_mapping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
