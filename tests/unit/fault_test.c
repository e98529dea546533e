/* Tests of shim/base/fault.c and alloc.h: the n-th passage fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "tests/lib/capture.h"
#include "tests/lib/fault_sweep.h"

static void allocations_work_while_nothing_is_armed(void **state)
{
    (void)state;
    char *text = mgds_strndup("word and more", 4);
    unsigned char *zeros = (unsigned char *)mgds_calloc(3, 5);
    assert_non_null(zeros);
    assert_string_equal(text, "word");
    for (unsigned i = 0; i < 15; ++i)
        assert_int_equal(zeros[i], 0);
    text = (char *)mgds_realloc(text, 100);
    assert_string_equal(text, "word");
    free(text);
    free(zeros);
}

#ifdef MGDS_FAULT

static void only_the_nth_passage_fails(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; ++n) {
        mgds_fault_arm(MGDS_FAULT_alloc, n);
        for (unsigned i = 1; i <= 7; ++i) {
            assert_int_equal(mgds_fault_armed(MGDS_FAULT_alloc), i <= n);
            errno = 0;
            void *memory = mgds_malloc(1);
            assert_int_equal(memory == NULL, i == n);
            assert_int_equal(errno, i == n ? ENOMEM : 0);
            free(memory);
        }
    }
}

static void every_wrapper_has_the_hook(void **state)
{
    (void)state;
    void *old = malloc(1);
    mgds_fault_arm(MGDS_FAULT_alloc, 1);
    assert_null(mgds_calloc(1, 1));
    mgds_fault_arm(MGDS_FAULT_alloc, 1);
    assert_null(mgds_realloc(old, 2));
    mgds_fault_arm(MGDS_FAULT_alloc, 1);
    assert_null(mgds_strdup("x"));
    mgds_fault_arm(MGDS_FAULT_alloc, 1);
    assert_null(mgds_strndup("x", 1));
    free(old);
}

static void disarming_takes_the_failure_back(void **state)
{
    (void)state;
    mgds_fault_arm(MGDS_FAULT_alloc, 1);
    mgds_fault_arm(MGDS_FAULT_alloc, 0);
    assert_false(MGDS_FAULT_POINT(alloc));
    assert_false(mgds_fault_armed(MGDS_FAULT_alloc));
}

static void setting_arms_a_site(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_configure("alloc:2"), 0);
    assert_false(MGDS_FAULT_POINT(alloc));
    assert_true(MGDS_FAULT_POINT(alloc));
    assert_false(MGDS_FAULT_POINT(alloc));
    assert_int_equal(mgds_fault_configure(""), 0);
    assert_false(mgds_fault_armed(MGDS_FAULT_alloc));
}

static void wrong_setting_gets_one_line_and_arms_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {"alloc",
                                        "alloc:",
                                        "alloc:0",
                                        "alloc:-1",
                                        "alloc:1x",
                                        "alloc: 1",
                                        "all:1",
                                        ":1",
                                        "1",
                                        "alloc:1:1",
                                        "alloc:99999999999999999999999"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        char expected[256];
        snprintf(expected, sizeof(expected),
                 "mpix-gds[rank 7]: warn: MPIX_GDS_FAULT '%s' is not site:n "
                 "with site one of alloc and n from 1 to 1000000000: "
                 "ignored\n",
                 wrong[i]);
        mgds_capture_start(MGDS_LOG_WARN);
        assert_int_equal(mgds_fault_configure(wrong[i]), -EINVAL);
        char *text = mgds_capture_stop();
        assert_string_equal(text, expected);
        assert_false(mgds_fault_armed(MGDS_FAULT_alloc));
        free(text);
    }
}

struct two {
    char *first;
    char *second;
};

static int make_two(void *arg)
{
    struct two *two = (struct two *)arg;
    two->first = mgds_strdup("first");
    if (!two->first)
        return -ENOMEM;
    two->second = mgds_strdup("second");
    if (!two->second) {
        free(two->first);
        return -ENOMEM;
    }
    free(two->second);
    free(two->first);
    return 0;
}

static void sweep_fails_each_passage_once(void **state)
{
    (void)state;
    struct two two;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, make_two, &two), 2);
    assert_false(mgds_fault_armed(MGDS_FAULT_alloc));
}

static void numbers_begin_where_they_are_told(void **state)
{
    (void)state;
    assert_true(MGDS_COUNT_FROM == 0);
    assert_int_equal(mgds_fault_count_from(UINT64_C(1) << 63), 0);
    assert_true(MGDS_COUNT_FROM == UINT64_C(1) << 63);
    assert_int_equal(mgds_fault_count_from(0), 0);
    assert_true(MGDS_COUNT_FROM == 0);
}

#else

static void build_without_the_hook_says_so(void **state)
{
    (void)state;
    mgds_capture_start(MGDS_LOG_WARN);
    assert_int_equal(mgds_fault_configure(""), 0);
    assert_int_equal(mgds_fault_configure("alloc:1"), -ENOTSUP);
    assert_int_equal(mgds_fault_count_from(0), 0);
    assert_int_equal(mgds_fault_count_from(1), -ENOTSUP);
    char *text = mgds_capture_stop();
    assert_string_equal(text, "mpix-gds[rank 7]: warn: MPIX_GDS_FAULT is "
                              "ignored: this build has no fault hook "
                              "(configure with -DMGDS_FAULT=ON)\n"
                              "mpix-gds[rank 7]: warn: MPIX_GDS_COUNT_FROM is "
                              "ignored: this build has no fault hook "
                              "(configure with -DMGDS_FAULT=ON)\n");
    assert_true(MGDS_COUNT_FROM == 0);
    free(text);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_work_while_nothing_is_armed),
#ifdef MGDS_FAULT
        cmocka_unit_test(only_the_nth_passage_fails),
        cmocka_unit_test(every_wrapper_has_the_hook),
        cmocka_unit_test(disarming_takes_the_failure_back),
        cmocka_unit_test(setting_arms_a_site),
        cmocka_unit_test(wrong_setting_gets_one_line_and_arms_nothing),
        cmocka_unit_test(sweep_fails_each_passage_once),
        cmocka_unit_test(numbers_begin_where_they_are_told),
#else
        cmocka_unit_test(build_without_the_hook_says_so),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
