/* Tests of shim/gds/cuda/ptrcache.c: what is remembered, what is put out, and
 * that threads never see half of an entry. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <cmocka.h>

#include "shim/gds/cuda/ptrcache.h"

enum { PAGE = 4096, WRITERS = 3, READERS = 3, LAPS = 20000, PLACES = 64 };

/* All of it follows from base and id, so that a mixture shows. */
static struct mgds_ptr made(uintptr_t base, uint64_t id)
{
    return (struct mgds_ptr){
        .kind = (enum mgds_ptr_kind)(MGDS_PTR_MANAGED + id % 5),
        .device = (int)(id % 60000),
        .id = id,
        .base = base,
        .size = PAGE + id,
        .ctx = (CUcontext)(uintptr_t)(base ^ id),
        .ctx_id = base * 3 + id,
        .handle_types = (unsigned)(id % 16),
    };
}

static bool is_whole(const struct mgds_ptr *ptr)
{
    struct mgds_ptr want = made(ptr->base, ptr->id);

    return ptr->kind == want.kind && ptr->device == want.device &&
           ptr->size == want.size && ptr->ctx == want.ctx &&
           ptr->ctx_id == want.ctx_id && ptr->handle_types == want.handle_types;
}

static void entry_comes_back_for_what_it_covers(void **state)
{
    const uintptr_t base = 0x7000000000;
    struct mgds_ptr ptr = made(base, 9), found;

    (void)state;
    assert_false(mgds_ptrcache_get(&found, base));
    assert_false(mgds_ptrcache_covers(base));
    mgds_ptrcache_put(&ptr, base);
    assert_true(mgds_ptrcache_covers(base + 100));
    assert_false(mgds_ptrcache_covers(base - 1));
    assert_false(mgds_ptrcache_covers(base + PAGE + 9));
    assert_true(mgds_ptrcache_get(&found, base + 100));
    assert_true(is_whole(&found));
    assert_int_equal(found.id, 9);
    assert_false(mgds_ptrcache_get(&found, base - 1));
    assert_false(mgds_ptrcache_get(&found, base + PAGE + 9));
}

static void newer_entry_takes_the_place_of_the_older(void **state)
{
    const uintptr_t base = 0x7100000000;
    struct mgds_ptr found;

    (void)state;
    for (uint64_t id = 1; id < 20; id++) {
        struct mgds_ptr ptr = made(base, id);

        mgds_ptrcache_put(&ptr, base + 8);
        assert_true(mgds_ptrcache_get(&found, base + 8));
        assert_int_equal(found.id, id);
    }
}

static void dropped_entry_is_gone(void **state)
{
    const uintptr_t base = 0x7200000000;
    struct mgds_ptr ptr = made(base, 3), found;

    (void)state;
    mgds_ptrcache_put(&ptr, base);
    mgds_ptrcache_drop(base + 5);
    assert_false(mgds_ptrcache_get(&found, base));
    assert_false(mgds_ptrcache_covers(base));
    mgds_ptrcache_drop(base);
}

static uintptr_t place(unsigned i)
{
    return 0x7300000000 + (uintptr_t)(i % PLACES) * 2 * PAGE;
}

static atomic_uint broken, found_some;

static void *write_entries(void *arg)
{
    uint64_t id = (uint64_t)(uintptr_t)arg;

    for (unsigned i = 0; i < LAPS; i++, id += WRITERS) {
        struct mgds_ptr ptr = made(place(i), id % 3000);

        mgds_ptrcache_put(&ptr, ptr.base);
        if (i % 16 == 0)
            mgds_ptrcache_drop(place(i / 2));
    }
    return NULL;
}

static void *read_entries(void *arg)
{
    struct mgds_ptr found;

    (void)arg;
    for (unsigned i = 0; i < LAPS; i++) {
        (void)mgds_ptrcache_covers(place(i));
        if (!mgds_ptrcache_get(&found, place(i)))
            continue;
        atomic_fetch_add(&found_some, 1);
        if (!is_whole(&found))
            atomic_fetch_add(&broken, 1);
    }
    return NULL;
}

static void threads_never_see_half_an_entry(void **state)
{
    pthread_t threads[WRITERS + READERS];

    (void)state;
    for (uintptr_t i = 0; i < WRITERS + READERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL,
                           i < WRITERS ? write_entries : read_entries,
                           (void *)i),
            0);
    for (int i = 0; i < WRITERS + READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(broken, 0);
    read_entries(NULL);
    assert_true(found_some > 0);
    assert_int_equal(broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_comes_back_for_what_it_covers),
        cmocka_unit_test(newer_entry_takes_the_place_of_the_older),
        cmocka_unit_test(dropped_entry_is_gone),
        cmocka_unit_test(threads_never_see_half_an_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
