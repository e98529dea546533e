/* Records by numbers, against a list of what is in: keys that collide, too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/base/hash.h"
#include "tests/lib/fault_sweep.h"

enum { KEYS = 300, STEPS = 300000 };

/* A third of the keys has the same home, a third is side by side up to the end
 * of the table, from where searches go on at its begin. */
static uint64_t key_of(unsigned i)
{
    switch (i % 3) {
    case 0:
        return UINT64_C(5) + ((uint64_t)(i + 1) << 32);
    case 1:
        return UINT64_C(1000) + i;
    default:
        return (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    }
}

static void records_come_and_go(void **state)
{
    struct mgds_hash hash = {.count = 0};
    char record[KEYS], *in[KEYS] = {NULL};
    unsigned count = 0;
    uint32_t random = 1;

    (void)state;
    for (int step = 0; step < STEPS; step++) {
        unsigned i, any;

        random = random * 1664525u + 1013904223u;
        i = (random >> 8) % KEYS;
        any = (random >> 20) % KEYS;
        if (in[i])
            mgds_hash_remove(&hash, key_of(i));
        else
            assert_int_equal(mgds_hash_put(&hash, key_of(i), &record[i]), 0);
        count += in[i] ? UINT32_MAX : 1;
        in[i] = in[i] ? NULL : &record[i];
        assert_ptr_equal(mgds_hash_find(&hash, key_of(any)), in[any]);
        assert_int_equal(hash.count, count);
    }
    for (unsigned i = 0; i < KEYS; i++)
        assert_ptr_equal(mgds_hash_find(&hash, key_of(i)), in[i]);
    assert_true(hash.room <= 1024); /* twice as many as were in at once */
    mgds_hash_fini(&hash);
    assert_null(mgds_hash_find(&hash, key_of(0)));
}

static void a_key_has_one_value(void **state)
{
    struct mgds_hash hash = {.count = 0};
    char a, b;

    (void)state;
    assert_int_equal(mgds_hash_put(&hash, 7, &a), 0);
    assert_int_equal(mgds_hash_put(&hash, 7, &b), 0);
    assert_int_equal(hash.count, 1);
    assert_ptr_equal(mgds_hash_find(&hash, 7), &b);
    mgds_hash_remove(&hash, 7);
    assert_null(mgds_hash_find(&hash, 7));
    mgds_hash_fini(&hash);
}

static void what_is_not_in_is_not_found(void **state)
{
    struct mgds_hash hash = {.count = 0};
    char a;

    (void)state;
    assert_null(mgds_hash_find(&hash, 1)); /* in an empty one, too */
    mgds_hash_remove(&hash, 1);
    assert_int_equal(mgds_hash_put(&hash, 1, &a), 0);
    assert_null(mgds_hash_find(&hash, 0));
    assert_null(mgds_hash_find(&hash, UINT64_C(1) << 32 | 1));
    mgds_hash_remove(&hash, 2);
    assert_ptr_equal(mgds_hash_find(&hash, 1), &a);
    mgds_hash_fini(&hash);
}

static int fill(void *arg)
{
    struct mgds_hash hash = {.count = 0};
    char record[KEYS];
    unsigned n = 0;
    int rc = 0;

    (void)arg;
    while (n < KEYS && rc == 0) {
        rc = mgds_hash_put(&hash, key_of(n), &record[n]);
        n += rc == 0;
    }
    for (unsigned i = 0; i < n; i++)
        assert_ptr_equal(mgds_hash_find(&hash, key_of(i)), &record[i]);
    assert_int_equal(hash.count, n);
    mgds_hash_fini(&hash);
    assert_true(rc == 0 || rc == -ENOMEM);
    return rc;
}

static void short_memory_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, fill, NULL), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_and_go),
        cmocka_unit_test(a_key_has_one_value),
        cmocka_unit_test(what_is_not_in_is_not_found),
        cmocka_unit_test(short_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
