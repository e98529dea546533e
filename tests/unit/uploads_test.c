/* Tests of shim/gds/mem/uploads.c: when uploads are made in rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/mem/uploads.h"

#define US UINT64_C(1000)
#define SECOND UINT64_C(1000000000)

static const uint64_t begin = 5 * SECOND;

/* A plain upload at that time, which takes so long, looked at each 10 us. */
static void upload(struct mgds_uploads *uploads, uint64_t at, uint64_t takes)
{
    uint64_t since = at;

    for (uint64_t now = at; now < at + takes; now += 10 * US)
        mgds_uploads_observe(uploads, &since, false, now);
    mgds_uploads_observe(uploads, &since, true, at + takes);
    assert_int_equal(since, 0);
}

static void plain_until_two_take_long(void **state)
{
    struct mgds_uploads uploads = {0};

    (void)state;
    upload(&uploads, begin, 270 * US);
    assert_false(mgds_uploads_use_rows(&uploads, 8, begin + 300 * US));
    upload(&uploads, begin + 300 * US, 270 * US);
    assert_true(mgds_uploads_use_rows(&uploads, 8, begin + 600 * US));
    assert_true(
        mgds_uploads_use_rows(&uploads, MGDS_UPLOADS_SMALL, begin + 600 * US));
    assert_false(mgds_uploads_use_rows(&uploads, MGDS_UPLOADS_SMALL + 1,
                                       begin + 600 * US));
}

static void one_that_is_fast_between_them_counts(void **state)
{
    struct mgds_uploads uploads = {0};

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        upload(&uploads, begin + i * 1000 * US, 270 * US);
        upload(&uploads, begin + i * 1000 * US + 500 * US, 10 * US);
    }
    assert_false(mgds_uploads_use_rows(&uploads, 8, begin + 100000 * US));
}

/* Nobody asked meanwhile: it may have been over long ago. */
static void one_that_is_looked_at_late_says_nothing(void **state)
{
    struct mgds_uploads uploads = {0};

    (void)state;
    for (uint64_t i = 1; i < 100; i++) {
        uint64_t since = begin + i * 1000 * US;

        mgds_uploads_observe(&uploads, &since, true, since + 500 * US);
        assert_int_equal(since, 0);
    }
    assert_false(mgds_uploads_use_rows(&uploads, 8, begin + 100000 * US));
}

static void one_a_second_is_tried(void **state)
{
    struct mgds_uploads uploads = {0};

    (void)state;
    upload(&uploads, begin, 270 * US);
    upload(&uploads, begin + 300 * US, 270 * US);
    for (uint64_t i = 1; i < 5; i++) {
        uint64_t at = begin + i * (SECOND + 1000 * US);

        assert_true(mgds_uploads_use_rows(&uploads, 8, at - 2000 * US));
        assert_false(mgds_uploads_use_rows(&uploads, 8, at));
        upload(&uploads, at, 270 * US);
        assert_true(mgds_uploads_use_rows(&uploads, 8, at + 300 * US));
    }
}

static void alone_again_it_is_plain(void **state)
{
    struct mgds_uploads uploads = {0};
    uint64_t later = begin + 2 * SECOND;

    (void)state;
    upload(&uploads, begin, 270 * US);
    upload(&uploads, begin + 300 * US, 270 * US);
    upload(&uploads, later, 10 * US);
    upload(&uploads, later + 100 * US, 270 * US);
    assert_false(mgds_uploads_use_rows(&uploads, 8, later + 500 * US));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_until_two_take_long),
        cmocka_unit_test(one_that_is_fast_between_them_counts),
        cmocka_unit_test(one_that_is_looked_at_late_says_nothing),
        cmocka_unit_test(one_a_second_is_tried),
        cmocka_unit_test(alone_again_it_is_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
