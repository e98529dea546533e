/* Tests of shim/base/spares.c: what is given back is given out again, zeroed,
 * and never to two. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/spares.h"

enum { WORDS = 9, RECORDS = 64, THREADS = 4, LAPS = 2000 };

static struct mgds_spares spares = MGDS_SPARES_INIT(WORDS * sizeof(uint64_t));

static bool is_zero(const uint64_t *record)
{
    for (int i = 0; i < WORDS; i++)
        if (record[i] != 0)
            return false;
    return true;
}

static void records_are_zero_and_apart(void **state)
{
    uint64_t *record[RECORDS];

    (void)state;
    for (int lap = 0; lap < 3; lap++) {
        for (int i = 0; i < RECORDS; i++) {
            record[i] = mgds_spares_take(&spares);
            assert_non_null(record[i]);
            assert_true(is_zero(record[i]));
            memset(record[i], 0xff, WORDS * sizeof(uint64_t));
            for (int j = 0; j < i; j++)
                assert_ptr_not_equal(record[i], record[j]);
        }
        for (int i = 0; i < RECORDS; i++)
            mgds_spares_give(&spares, record[i]);
    }
    mgds_spares_give(&spares, NULL);
    mgds_spares_clear(&spares);
    assert_null(spares.out);
    assert_null(spares.back);
    assert_int_equal(spares.count, 0);
}

/* Each writes its own name into what it has, and finds it again. */
static void *exchange(void *arg)
{
    uint64_t name = (uint64_t)(uintptr_t)arg;
    bool good = true;

    for (int lap = 0; lap < LAPS; lap++) {
        uint64_t *one = mgds_spares_take(&spares);
        uint64_t *two = mgds_spares_take(&spares);

        good = good && one && two && is_zero(one) && is_zero(two);
        if (!one || !two)
            break;
        one[0] = two[WORDS - 1] = name;
        good = good && one[0] == name && two[WORDS - 1] == name;
        mgds_spares_give(&spares, two);
        mgds_spares_give(&spares, one);
    }
    return good ? arg : NULL;
}

static void threads_never_share_a_record(void **state)
{
    pthread_t thread[THREADS];
    void *result;

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, exchange, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], &result), 0);
        assert_non_null(result);
    }
    mgds_spares_clear(&spares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_zero_and_apart),
        cmocka_unit_test(threads_never_share_a_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
