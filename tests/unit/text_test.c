/* Tests of shim/base/text.c: text that is cut, never overrun. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
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
        mgds_text_bytes(&text, "defghij", 7);
        mgds_text_add(&text, "k");
        assert_int_equal(strlen(buffer), size - 1);
        assert_memory_equal(buffer, "abcdefgh", size - 1);
        assert_int_equal(buffer[size], '#');
    }
}

static void numbers_are_those_of_printf(void **state)
{
    static const int64_t numbers[] = {0,          7,         -1,
                                      1234567890, INT64_MAX, INT64_MIN};

    (void)state;
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char buffer[64], wanted[64];
        struct mgds_text text;

        mgds_text_init(&text, buffer, sizeof(buffer));
        mgds_text_number(&text, numbers[i]);
        mgds_text_string(&text, " ");
        mgds_text_hex(&text, (uint64_t)numbers[i]);
        snprintf(wanted, sizeof(wanted), "%" PRId64 " 0x%" PRIx64, numbers[i],
                 (uint64_t)numbers[i]);
        assert_string_equal(buffer, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(what_does_not_fit_is_cut),
        cmocka_unit_test(numbers_are_those_of_printf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
