/* Tests of shim/base/config_doc.c: the table as people read it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/config.h"

struct sample {
    bool flag;
    uint64_t depth;
    char *text;
    enum mgds_summary who;
    unsigned ways;
};

#define ROW(kind, field, suffix, text, min, max, doc)                          \
    MGDS_CONFIG_ROW(struct sample, kind, field, suffix, text, min, max, doc)
static const struct mgds_config_row rows[] = {
    ROW(bool, flag, "FLAG", "yes", 0, 1, "a flag"),
    ROW(uint, depth, "DEPTH", "64", 8, 1024, "a depth"),
    ROW(string, text, "TEXT", "", 0, 10,
        "a text that has more to say than one line of a terminal will hold, "
        "so that it is broken between words"),
    ROW(one_of(summary), who, "WHO", "rank0", 0, 0, "a name"),
    ROW(set_of(path), ways, "WAYS", "", 0, 0, "a set"),
};
static const struct mgds_config_table table = {
    .prefix = "MGDS_SAMPLE_", .rows = rows, .count = 5};

static void markdown_has_a_line_for_each_setting(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    mgds_config_table_markdown(&table, out);
    fclose(out);
    assert_string_equal(
        text,
        "| variable | takes | default | meaning |\n"
        "| --- | --- | --- | --- |\n"
        "| `MGDS_SAMPLE_FLAG` | yes or no | `yes` | a flag |\n"
        "| `MGDS_SAMPLE_DEPTH` | a whole number from 8 to 1024 | `64` | "
        "a depth |\n"
        "| `MGDS_SAMPLE_TEXT` | a text of at most 10 bytes |  | a text that "
        "has more to say than one line of a terminal will hold, so that it "
        "is broken between words |\n"
        "| `MGDS_SAMPLE_WHO` | one of none, rank0, all | `rank0` | a name |\n"
        "| `MGDS_SAMPLE_WAYS` | a list of self, p2p, ib-gpu, ib-cpu, host, ucx "
        "|  "
        "| a set |\n");
    free(text);
}

static void text_shows_values_in_effect_and_what_was_changed(void **state)
{
    (void)state;
    char word[] = "word";
    const struct sample sample = {.flag = false,
                                  .depth = 64,
                                  .text = word,
                                  .who = MGDS_SUMMARY_ALL,
                                  .ways = 1u << MGDS_PATH_P2P |
                                          1u << MGDS_PATH_UCX};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    mgds_config_table_text(&table, &sample, out);
    fclose(out);
    assert_string_equal(
        text,
        "MGDS_SAMPLE_FLAG   no  (changed)\n"
        "    a flag\n"
        "    takes yes or no, default yes\n"
        "MGDS_SAMPLE_DEPTH  64\n"
        "    a depth\n"
        "    takes a whole number from 8 to 1024, default 64\n"
        "MGDS_SAMPLE_TEXT   word  (changed)\n"
        "    a text that has more to say than one line of a terminal "
        "will hold, so that\n"
        "    it is broken between words\n"
        "    takes a text of at most 10 bytes, default (empty)\n"
        "MGDS_SAMPLE_WHO    all  (changed)\n"
        "    a name\n"
        "    takes one of none, rank0, all, default rank0\n"
        "MGDS_SAMPLE_WAYS   p2p,ucx  (changed)\n"
        "    a set\n"
        "    takes a list of self, p2p, ib-gpu, ib-cpu, host, ucx, default "
        "(empty)\n");
    free(text);
}

/* In a column that is as far as the longest name needs. */
static bool has_value(const char *text, const char *name, const char *value)
{
    const char *at = strstr(text, name);
    size_t length = strlen(value);

    if (!at)
        return false;
    at += strlen(name);
    at += strspn(at, " ");
    return strncmp(at, value, length) == 0 &&
           strncmp(at + length, "  (changed)\n", 12) == 0;
}

/* What is printed as a value may be set as one. */
static void printed_values_are_taken_again(void **state)
{
    (void)state;
    struct mgds_config cfg;
    setenv("MPIX_GDS_REQUIRE", "self,ib-cpu", 1);
    setenv("MPIX_GDS_LOG_LEVEL", "debug", 1);
    assert_int_equal(mgds_config_load(&cfg), 0);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    mgds_config_table_text(&mgds_config_table, &cfg, out);
    fclose(out);
    assert_true(has_value(text, "MPIX_GDS_REQUIRE ", "self,ib-cpu"));
    assert_true(has_value(text, "MPIX_GDS_LOG_LEVEL ", "debug"));
    free(text);
    mgds_config_fini(&cfg);
    unsetenv("MPIX_GDS_REQUIRE");
    unsetenv("MPIX_GDS_LOG_LEVEL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown_has_a_line_for_each_setting),
        cmocka_unit_test(text_shows_values_in_effect_and_what_was_changed),
        cmocka_unit_test(printed_values_are_taken_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
