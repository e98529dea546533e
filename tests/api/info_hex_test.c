/* Bytes as MPICH's text, both ways. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/pmpi/info_hex.h"

static void text_is_mpichs(void **state)
{
    static const struct {
        uint8_t bytes[8];
        size_t size;
        const char *text;
    } cases[] = {
        {{0}, 8, "[8]"},
        {{1, 0, 0, 0, 0, 0, 0, 0}, 8, "01[7]"},
        {{0xde, 0, 0xad, 0, 0, 0x0f, 0, 0}, 8, "DE00AD[2]0F[2]"},
        {{0}, 1, "00"},
        {{0}, 0, ""},
    };
    char text[MGDS_HEX_TEXT];
    uint8_t back[8];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t size = cases[i].size;

        assert_int_equal(mgds_hex_encode(text, cases[i].bytes, size), 0);
        assert_string_equal(text, cases[i].text);
        memset(back, 0x55, sizeof(back));
        assert_int_equal(mgds_hex_decode(back, size, text), 0);
        assert_memory_equal(back, cases[i].bytes, size);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    static uint8_t bytes[2000];
    char text[MGDS_HEX_TEXT];

    (void)state;
    assert_int_equal(mgds_hex_encode(text, bytes, sizeof(bytes)), 0);
    assert_string_equal(text, "[2000]");
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(mgds_hex_encode(text, bytes, 511), 0);
    assert_int_equal(strlen(text), 1022);
    assert_int_equal(mgds_hex_encode(text, bytes, 512), -E2BIG);
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "0",
                                        "00",
                                        "000",
                                        "0g00",
                                        "[2",
                                        "[]",
                                        "[0]00",
                                        "[x]",
                                        "[3]",
                                        "[1]0",
                                        "2]00",
                                        "0000 ",
                                        "[2]00",
                                        "000000",
                                        "[-2]",
                                        "[99999999999999999999]"};
    uint8_t bytes[2];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(mgds_hex_decode(bytes, 2, texts[i]), -EINVAL);
    assert_int_equal(mgds_hex_decode(bytes, 2, "aBcD"), 0);
    assert_int_equal(bytes[0], 0xab);
    assert_int_equal(bytes[1], 0xcd);
    assert_int_equal(mgds_hex_decode(bytes, 2, "[1][1]"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_mpichs),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(other_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
