/* Tests of shim/gds/mem/import.c: how often memory of others is mapped, when
 * it is let go of, and what happens in between. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "shim/base/lock.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/mem/import.h"
#include "tests/lib/fault_sweep.h"
#include "tests/unit/fake_cuda.h"

#define WINDOW ((uintptr_t)1 << 40) /* where the fake maps things */

enum { THREADS = 4, ROUNDS = 5000 };

static struct fake_cuda *fake;
static struct mgds_context *context[2];

static CUcontext handle_of(uintptr_t i)
{
    return (CUcontext)(0xc0de0 + 16 * i);
}

static int load(void **state)
{
    (void)state;
    fake = fake_cuda_load();
    return 0;
}

static int begin(void **state)
{
    struct mgds_ptr ptr = {.kind = MGDS_PTR_DEVICE};

    (void)state;
    fake_cuda_reset(fake);
    fake->opens_at = WINDOW;
    for (uintptr_t i = 0; i < 2; i++) {
        fake->contexts[i] = (struct fake_context){handle_of(i), 7 + i, 0};
        ptr.ctx = handle_of(i);
        ptr.ctx_id = 7 + i;
        assert_int_equal(mgds_context_of_ptr(&context[i], &ptr), 0);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    mgds_imports_fini();
    mgds_defer_drain();
    for (int i = 0; i < 2; i++) {
        mgds_context_put(context[i]);
        context[i] = NULL; /* whose reference is left over is a leak */
    }
    mgds_context_fini();
    return 0;
}

static struct mgds_export_handle memory(unsigned char name, uint64_t id)
{
    struct mgds_export_handle handle = {
        .id = id, .base = 0x10000, .size = 0x1000};

    memset(&handle.name, name, sizeof(handle.name));
    return handle;
}

static int try(struct mgds_import **out, unsigned char name, uint64_t id)
{
    struct mgds_export_handle handle = memory(name, id);

    return mgds_import_create(out, context[0], &handle);
}

static struct mgds_import *import(unsigned char name, uint64_t id)
{
    struct mgds_import *import = NULL;

    assert_int_equal(try(&import, name, id), 0);
    assert_non_null(import);
    assert_ptr_equal(mgds_import_addr(import), (void *)WINDOW);
    return import;
}

static void refuse(unsigned char name, uint64_t id, int code)
{
    struct mgds_import *import = NULL;

    assert_int_equal(try(&import, name, id), code);
    assert_null(import);
}

/* So many mappings were made and closed. */
static void assert_mapped(unsigned opened, unsigned closed)
{
    assert_int_equal(fake->opened, opened);
    assert_int_equal(fake->closed, closed);
}

static void handle_is_mapped_once_until_the_last_has_put_it(void **state)
{
    struct mgds_import *one = import(1, 1), *two = import(1, 1);
    struct mgds_import *other = import(2, 1);

    (void)state;
    assert_ptr_equal(one, two);
    assert_mapped(2, 0);
    mgds_import_put(one);
    assert_false(mgds_defer_pending());
    mgds_import_put(two);
    assert_mapped(2, 0); /* not in the call */
    assert_true(mgds_defer_pending());
    assert_int_equal(mgds_defer_drain(), 1);
    assert_mapped(2, 1);
    one = import(1, 1);
    assert_mapped(3, 1);
    mgds_import_put(one);
    mgds_import_put(other);
    mgds_import_put(NULL);
    assert_int_equal(mgds_defer_drain(), 2);
    assert_mapped(3, 3);
    assert_int_equal(fake_cuda_depth(), 0);
}

static void import_wanted_again_before_the_safe_point_stays(void **state)
{
    struct mgds_import *one = import(1, 1);

    (void)state;
    for (int i = 0; i < 3; i++) {
        mgds_import_put(one);
        one = import(1, 1);
    }
    mgds_defer_drain();
    assert_mapped(1, 0);
    assert_false(mgds_defer_pending());
    mgds_import_put(one);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_mapped(1, 1);
}

/* Where it lies is the driver's to say: each is opened and closed. */
static void memory_allocated_again_under_its_name_is_opened_again(void **state)
{
    struct mgds_import *old = import(1, 1), *fresh;

    (void)state;
    fresh = import(1, 2);
    assert_mapped(2, 0);
    mgds_import_put(old);
    mgds_defer_drain();
    assert_mapped(2, 1);
    fake->open_result = CUDA_ERROR_ALREADY_MAPPED;
    refuse(1, 3, -EBUSY);
    fake->open_result = CUDA_SUCCESS;
    mgds_import_put(fresh);
    mgds_defer_drain();
    assert_mapped(2, 2);
}

static void mapping_in_the_drivers_way_is_told_as_busy(void **state)
{
    (void)state;
    fake->open_result = CUDA_ERROR_ALREADY_MAPPED;
    refuse(1, 1, -EBUSY);
    fake->open_result = CUDA_SUCCESS;
    mgds_import_put(import(1, 1));
    mgds_defer_drain();
    assert_mapped(1, 1);
}

static void failure_is_told_and_not_remembered(void **state)
{
    (void)state;
    fake->open_result = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    refuse(1, 1, -ENOTSUP);
    fake->open_result = CUDA_ERROR_INVALID_VALUE;
    refuse(1, 1, -EINVAL);
    mgds_imports_fini();
    assert_false(mgds_defer_pending());
    fake->open_result = CUDA_SUCCESS;
    mgds_import_put(import(1, 1));
}

static void contexts_have_mappings_of_their_own(void **state)
{
    struct mgds_export_handle handle = memory(1, 1);
    struct mgds_import *one = import(1, 1), *two = NULL;

    (void)state;
    assert_int_equal(mgds_import_create(&two, context[1], &handle), 0);
    assert_ptr_not_equal(one, two);
    assert_mapped(2, 0);
    mgds_import_put(one);
    mgds_defer_drain();
    assert_mapped(2, 1);
    mgds_import_put(two);
    mgds_defer_drain();
    assert_mapped(2, 2);
}

static void destroyed_context_takes_its_mappings_along(void **state)
{
    struct mgds_import *one = import(1, 1);

    (void)state;
    fake->contexts[0].handle = NULL;
    refuse(2, 1, -ESHUTDOWN);
    mgds_import_put(one);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_mapped(1, 0); /* there is nothing to close */
    fake->contexts[0] = (struct fake_context){handle_of(0), 99, 0};
    refuse(1, 1, -ESHUTDOWN); /* its handle, but another one */
}

static void end_closes_also_what_somebody_has(void **state)
{
    struct mgds_import *early = import(1, 1), *late = import(2, 1);
    struct mgds_import *twice = import(3, 1);

    (void)state;
    import(3, 1);
    mgds_imports_fini();
    mgds_imports_fini();
    assert_mapped(3, 0);
    mgds_import_put(early);
    assert_int_equal(mgds_defer_drain(), 3);
    assert_mapped(3, 3);
    mgds_import_put(late);
    mgds_import_put(twice);
    mgds_import_put(twice);
    assert_false(mgds_defer_pending());
    mgds_imports_fini();
    assert_false(mgds_defer_pending());
}

static struct mgds_import *held;

/* From within the driver, as another thread might. */
static void put_held(void)
{
    mgds_import_put(held);
}

static void import_put_while_it_is_closed_is_gone_afterwards(void **state)
{
    (void)state;
    held = import(1, 1);
    mgds_imports_fini();
    fake->closing = put_held;
    assert_int_equal(mgds_defer_drain(), 1);
    assert_false(mgds_defer_pending());
    assert_mapped(1, 1);
}

static void import_made_after_the_end_is_open(void **state)
{
    struct mgds_import *old = import(1, 1), *gone = import(2, 1), *fresh;

    (void)state;
    mgds_imports_fini();
    fresh = import(1, 1);
    assert_int_equal(mgds_defer_drain(), 2);
    assert_mapped(2, 1);
    mgds_import_put(old);
    mgds_import_put(gone);
    assert_false(mgds_defer_pending());
    gone = import(2, 1);
    assert_mapped(3, 1);
    mgds_import_put(gone);
    mgds_import_put(fresh);
    mgds_defer_drain();
    assert_mapped(3, 3);
}

static void putting_asks_for_no_lock_below_its_own(void **state)
{
    struct mgds_import *one = import(1, 1);
    struct mgds_lock lock = MGDS_LOCK_INIT(MGDS_LOCK_CONN);

    (void)state;
    mgds_lock_acquire(&lock);
    mgds_import_put(one);
    mgds_lock_release(&lock);
    assert_mapped(1, 0);
}

/* The first to come into the driver stays there until it is let go. */
static sem_t inside, go;
static unsigned comers; /* atomic */

static void hold_the_first(void)
{
    if (__atomic_fetch_add(&comers, 1, __ATOMIC_RELAXED) > 0)
        return;
    sem_post(&inside);
    sem_wait(&go);
}

static void *create_one(void *arg)
{
    struct mgds_import *import = NULL;
    int rc = try(&import, 1, 1);

    __atomic_store_n((int *)arg, rc, __ATOMIC_RELAXED);
    return import;
}

/* While the first is in the driver: the second's outcome is its own. */
static void meet_in_the_driver(CUresult first, int want[2],
                               struct mgds_import *out[2])
{
    pthread_t thread[2];
    int rc[2];

    sem_init(&inside, 0, 0);
    sem_init(&go, 0, 0);
    comers = 0;
    fake->opening = hold_the_first;
    fake->open_result = first;
    assert_int_equal(pthread_create(&thread[0], NULL, create_one, &rc[0]), 0);
    sem_wait(&inside);
    assert_int_equal(pthread_create(&thread[1], NULL, create_one, &rc[1]), 0);
    mgds_imports_fini(); /* which is not for what is being made */
    assert_false(mgds_defer_pending());
    sem_post(&go);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], (void **)&out[i]), 0);
        assert_int_equal(rc[i], want[i]);
    }
    sem_destroy(&inside);
    sem_destroy(&go);
}

static void who_comes_meanwhile_waits_for_the_mapping(void **state)
{
    struct mgds_import *got[2];

    (void)state;
    meet_in_the_driver(CUDA_SUCCESS, (int[]){0, 0}, got);
    assert_ptr_equal(got[0], got[1]);
    assert_mapped(1, 0);
    mgds_import_put(got[0]);
    mgds_import_put(got[1]);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_mapped(1, 1);
}

static void who_waited_in_vain_tries_by_itself(void **state)
{
    struct mgds_import *got[2];

    (void)state;
    meet_in_the_driver(CUDA_ERROR_INVALID_VALUE, (int[]){-EINVAL, -EINVAL},
                       got);
    assert_int_equal(comers, 2);
    assert_null(got[0]);
    assert_null(got[1]);
    assert_mapped(0, 0);
}

/* Nothing is mapped, and nobody else is about to. */
static void open_alone(void)
{
    static unsigned opening; /* atomic */
    unsigned opened = __atomic_load_n(&fake->opened, __ATOMIC_RELAXED);

    assert_int_equal(__atomic_fetch_add(&opening, 1, __ATOMIC_RELAXED), 0);
    assert_int_equal(__atomic_load_n(&fake->closed, __ATOMIC_RELAXED), opened);
    sched_yield();
    __atomic_fetch_sub(&opening, 1, __ATOMIC_RELAXED);
}

static unsigned running; /* atomic */

static void *create_and_put(void *arg)
{
    struct mgds_import *had = NULL, *got = NULL;

    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(try(&got, 1, 1), 0);
        assert_ptr_equal(mgds_import_addr(got), (void *)WINDOW);
        mgds_import_put(had); /* one or two at a time, sometimes none */
        had = got;
        if (i % 16 == 0) {
            mgds_import_put(had);
            had = NULL;
        }
    }
    mgds_import_put(had);
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void threads_never_map_twice(void **state)
{
    pthread_t thread[THREADS];

    (void)state;
    fake->opening = open_alone;
    running = THREADS;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, create_and_put, NULL),
                         0);
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0) {
        mgds_defer_drain();
        sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    mgds_defer_drain();
    assert_true(fake->opened > 0);
    assert_int_equal(fake->opened, fake->closed);
}

static int create_and_drop(void *arg)
{
    struct mgds_import *import = NULL;
    int rc = try(&import, 1, 1);

    (void)arg;
    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        assert_null(import);
    }
    mgds_import_put(import);
    assert_int_equal(mgds_defer_drain(), rc < 0 ? 0 : 1);
    return rc;
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, create_and_drop, NULL),
                     2);
    assert_mapped(1, 1);
}

#define IMPORT_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IMPORT_TEST(handle_is_mapped_once_until_the_last_has_put_it),
        IMPORT_TEST(import_wanted_again_before_the_safe_point_stays),
        IMPORT_TEST(memory_allocated_again_under_its_name_is_opened_again),
        IMPORT_TEST(mapping_in_the_drivers_way_is_told_as_busy),
        IMPORT_TEST(failure_is_told_and_not_remembered),
        IMPORT_TEST(contexts_have_mappings_of_their_own),
        IMPORT_TEST(destroyed_context_takes_its_mappings_along),
        IMPORT_TEST(end_closes_also_what_somebody_has),
        IMPORT_TEST(import_put_while_it_is_closed_is_gone_afterwards),
        IMPORT_TEST(import_made_after_the_end_is_open),
        IMPORT_TEST(putting_asks_for_no_lock_below_its_own),
        IMPORT_TEST(who_comes_meanwhile_waits_for_the_mapping),
        IMPORT_TEST(who_waited_in_vain_tries_by_itself),
        IMPORT_TEST(threads_never_map_twice),
        IMPORT_TEST(want_of_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
