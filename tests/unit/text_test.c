/* Tests of shim/base/text.c: text that is cut, never overrun. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/text.h"

static void pieces_follow_each_other(void **state)
{
    (void)state;
    char buffer[32];
    struct mgds_text text;
    mgds_text_init(&text, buffer, sizeof(buffer));
    assert_string_equal(buffer, "");
    mgds_text_add(&text, "a %d", 1);
    mgds_text_add(&text, "%s", "");
    mgds_text_add(&text, ", b %s", "two");
    assert_string_equal(buffer, "a 1, b two");
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    for (size_t size = 1; size <= 8; ++size) {
        char buffer[9];
        struct mgds_text text;
        memset(buffer, '#', sizeof(buffer));
        mgds_text_init(&text, buffer, size);
        mgds_text_add(&text, "abc");
        mgds_text_add(&text, "defghij");
        mgds_text_add(&text, "k");
        assert_int_equal(strlen(buffer), size - 1);
        assert_memory_equal(buffer, "abcdefgh", size - 1);
        assert_int_equal(buffer[size], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
