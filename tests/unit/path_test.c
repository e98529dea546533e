/* Tests of shim/base/path.c: file names for each rank its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/base/path.h"

static void letters_are_filled_in(void **state)
{
    (void)state;
    char host[HOST_NAME_MAX + 1];
    char expected[512];
    char out[512];
    assert_int_equal(gethostname(host, sizeof(host)), 0);
    snprintf(expected, sizeof(expected), "/tmp/%s-%d-12-100%%", host,
             (int)getpid());
    assert_int_equal(
        mgds_path_expand(out, sizeof(out), "/tmp/%h-%p-%r-100%%", 12), 0);
    assert_string_equal(out, expected);
    assert_int_equal(mgds_path_expand(out, sizeof(out), "%r", -1), 0);
    assert_string_equal(out, "norank");
}

static void other_letters_and_nothing_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "a%", "a%s", "%n", "%P"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        char out[64];
        assert_int_equal(mgds_path_expand(out, sizeof(out), wrong[i], 0),
                         -EINVAL);
    }
}

static void name_that_does_not_fit_is_refused_not_cut(void **state)
{
    (void)state;
    char out[8];
    assert_int_equal(mgds_path_expand(out, sizeof(out), "1234567", 0), 0);
    assert_string_equal(out, "1234567");
    assert_int_equal(mgds_path_expand(out, sizeof(out), "12345678", 0),
                     -ENAMETOOLONG);
    assert_int_equal(mgds_path_expand(out, sizeof(out), "123456%r", 10),
                     -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_filled_in),
        cmocka_unit_test(other_letters_and_nothing_are_refused),
        cmocka_unit_test(name_that_does_not_fit_is_refused_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
