/* Tests of shim/base/config.c: texts in, values and lines out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/config.h"
#include "tests/lib/capture.h"
#include "tests/lib/fault_sweep.h"

/* A table as another part of the program would have it. */
struct sample {
    bool flag;
    uint64_t depth;
    uint64_t any;
    char *text;
    enum mgds_summary who;
    unsigned ways;
    double wait;
    int signal;
};

#define ROW(kind, field, suffix, text, min, max)                               \
    MGDS_CONFIG_ROW(struct sample, kind, field, suffix, text, min, max, "doc")
static const struct mgds_config_row rows[] = {
    ROW(bool, flag, "FLAG", "yes", 0, 1),
    ROW(uint, depth, "DEPTH", "64", 8, 1024),
    ROW(uint, any, "ANY", "0", 0, UINT64_MAX),
    ROW(string, text, "TEXT", "standard", 2, 10),
    ROW(one_of(summary), who, "WHO", "rank0", 0, 0),
    ROW(set_of(path), ways, "WAYS", "self,ucx", 0, 0),
    ROW(seconds, wait, "WAIT", "10", 0, 100),
    ROW(signal, signal, "SIGNAL", "none", 0, 0),
};
static const char *const reserved[] = {"OTHER_", NULL};
static const struct mgds_config_table table = {
    .prefix = "MGDS_SAMPLE_", .reserved = reserved, .rows = rows, .count = 8};

static const char *const names[] = {"MGDS_SAMPLE_FLAG", "MGDS_SAMPLE_DEPTH",
                                    "MGDS_SAMPLE_ANY",  "MGDS_SAMPLE_TEXT",
                                    "MGDS_SAMPLE_WHO",  "MGDS_SAMPLE_WAYS",
                                    "MGDS_SAMPLE_WAIT", "MGDS_SAMPLE_SIGNAL"};

static int clean_environment(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
        unsetenv(names[i]);
    return 0;
}

/* The sample with one variable set; the caller finishes it. */
static int load_with(struct sample *sample, const char *name, const char *value)
{
    setenv(name, value, 1);
    int bad = mgds_config_table_load(&table, sample);
    unsetenv(name);
    return bad;
}

/* What the table has to say with one variable set; the caller frees it. */
static char *warnings_with(const char *name, const char *value)
{
    setenv(name, value, 1);
    mgds_capture_start(MGDS_LOG_WARN);
    int warned = mgds_config_table_warn(&table);
    char *text = mgds_capture_stop();
    unsetenv(name);
    assert_int_equal(mgds_count_lines(text), warned);
    return text;
}

static void unset_variables_get_their_defaults(void **state)
{
    (void)state;
    struct sample sample;
    assert_int_equal(mgds_config_table_load(&table, &sample), 0);
    assert_true(sample.flag);
    assert_int_equal(sample.depth, 64);
    assert_int_equal(sample.any, 0);
    assert_string_equal(sample.text, "standard");
    assert_int_equal(sample.who, MGDS_SUMMARY_RANK0);
    assert_int_equal(sample.ways, 1u << MGDS_PATH_SELF | 1u << MGDS_PATH_UCX);
    mgds_config_table_fini(&table, &sample);
    assert_null(sample.text);
}

static void a_variable_without_text_counts_as_not_set(void **state)
{
    (void)state;
    static const char *const blanks[] = {"", " ", " \t\n "};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        for (unsigned j = 0; j < 3; ++j) {
            struct sample sample;
            assert_int_equal(load_with(&sample, names[i], blanks[j]), 0);
            assert_int_equal(sample.depth, 64);
            assert_string_equal(sample.text, "standard");
            mgds_config_table_fini(&table, &sample);
        }
    }
}

struct flag_case {
    const char *text;
    int bad;
    bool value;
};

static void bool_takes_its_spellings_and_no_others(void **state)
{
    (void)state;
    static const struct flag_case cases[] = {
        {"yes", 0, true},    {"no", 0, false},  {"on", 0, true},
        {"off", 0, false},   {"true", 0, true}, {"false", 0, false},
        {"1", 0, true},      {"0", 0, false},   {"y", 0, true},
        {"n", 0, false},     {"YES", 0, true},  {"Off", 0, false},
        {" no\n", 0, false}, {"2", 1, true},    {"maybe", 1, true},
        {"ye", 1, true},     {"yess", 1, true}, {"n o", 1, true},
        {"-1", 1, true},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct sample sample;
        assert_int_equal(load_with(&sample, "MGDS_SAMPLE_FLAG", cases[i].text),
                         cases[i].bad);
        assert_int_equal(sample.flag, cases[i].value);
        mgds_config_table_fini(&table, &sample);
    }
}

struct uint_case {
    const char *text;
    int bad;
    uint64_t value;
};

static void check_uints(const char *name, size_t offset,
                        const struct uint_case *cases, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        struct sample sample;
        uint64_t value;
        assert_int_equal(load_with(&sample, name, cases[i].text), cases[i].bad);
        memcpy(&value, (char *)&sample + offset, sizeof(value));
        assert_int_equal(value, cases[i].value);
        mgds_config_table_fini(&table, &sample);
    }
}

static void uint_keeps_to_its_range(void **state)
{
    (void)state;
    static const struct uint_case cases[] = {
        {"8", 0, 8},       {"1024", 0, 1024}, {"7", 1, 64},
        {"1025", 1, 64},   {"0x10", 0, 16},   {"0XfF", 0, 255},
        {"0x401", 1, 64},  {"010", 0, 10},    {" 12 ", 0, 12},
        {"0000009", 0, 9}, {"1k", 0, 1024},   {"1KiB", 0, 1024},
        {"2K", 1, 64},     {"1G", 1, 64},     {"16777216T", 1, 64},
    };
    check_uints("MGDS_SAMPLE_DEPTH", offsetof(struct sample, depth), cases,
                sizeof(cases) / sizeof(cases[0]));
}

static void uint_takes_no_text_that_is_not_a_number(void **state)
{
    (void)state;
    static const struct uint_case cases[] = {
        {"-9", 1, 64},  {"+9", 1, 64},   {"9.5", 1, 64}, {"1e2", 1, 64},
        {"9b", 1, 64},  {"0x", 1, 64},   {"1kB", 1, 64}, {"k", 1, 64},
        {"1kk", 1, 64}, {"0x1k", 1, 64}, {"xff", 1, 64}, {"9 9", 1, 64},
        {"ff", 1, 64},  {"nine", 1, 64}};
    check_uints("MGDS_SAMPLE_DEPTH", offsetof(struct sample, depth), cases,
                sizeof(cases) / sizeof(cases[0]));
}

/* Thousandths. */
static void d9_seconds_take_a_fraction_and_no_sign(void **state)
{
    (void)state;
    static const struct uint_case cases[] = {
        {"0", 0, 0},       {"0.25", 0, 250},    {"100", 0, 100000},
        {"1.5 ", 0, 1500}, {"100.5", 1, 10000}, {"-1", 1, 10000},
        {"+1", 1, 10000},  {"1e1", 1, 10000},   {".5", 1, 10000},
        {"1.", 1, 10000},  {"1,5", 1, 10000},   {"1.5s", 1, 10000},
        {"inf", 1, 10000}, {"nan", 1, 10000}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct sample sample;
        assert_int_equal(load_with(&sample, "MGDS_SAMPLE_WAIT", cases[i].text),
                         cases[i].bad);
        assert_int_equal((uint64_t)(sample.wait * 1000 + 0.5), cases[i].value);
        mgds_config_table_fini(&table, &sample);
    }
}

static void d9_signal_is_a_name_or_number_that_can_be_caught(void **state)
{
    (void)state;
    static const struct uint_case cases[] = {
        {"none", 0, 0},       {"SIGUSR2", 0, SIGUSR2},
        {"usr1", 0, SIGUSR1}, {"sigusr1", 0, SIGUSR1},
        {"34", 0, 34},        {"0", 0, 0},
        {"9", 1, 0},          {"KILL", 1, 0},
        {"SIGSTOP", 1, 0},    {"19", 1, 0},
        {"65", 1, 0},         {"-1", 1, 0},
        {"SIG", 1, 0},        {"USR3", 1, 0}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct sample sample;
        assert_int_equal(
            load_with(&sample, "MGDS_SAMPLE_SIGNAL", cases[i].text),
            cases[i].bad);
        assert_int_equal(sample.signal, cases[i].value);
        mgds_config_table_fini(&table, &sample);
    }
}

static void d9_bad_settings_of_the_watchdog_are_told(void **state)
{
    (void)state;
    char *text = warnings_with("MGDS_SAMPLE_WAIT", "soon");
    assert_non_null(strstr(text,
                           "MGDS_SAMPLE_WAIT 'soon' is not seconds from 0 "
                           "to 100, such as 10 or 0.5: using the default "
                           "'10'"));
    free(text);
    text = warnings_with("MGDS_SAMPLE_SIGNAL", "KILL");
    assert_non_null(strstr(text, "MGDS_SAMPLE_SIGNAL 'KILL' is not none, the "
                                 "name of a signal, such as SIGUSR2"));
    free(text);
}

static void uint_does_not_wrap_around(void **state)
{
    (void)state;
    static const struct uint_case cases[] = {
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", 1, 0},
        {"18446744073709551625", 1, 0},
        {"0xffffffffffffffff", 0, UINT64_MAX},
        {"0x10000000000000000", 1, 0},
        {"99999999999999999999999999999999", 1, 0}};
    check_uints("MGDS_SAMPLE_ANY", offsetof(struct sample, any), cases,
                sizeof(cases) / sizeof(cases[0]));
}

static void string_is_trimmed_and_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int bad;
        const char *value;
    } cases[] = {{"ab", 0, "ab"},
                 {"  a b  ", 0, "a b"},
                 {"0123456789", 0, "0123456789"},
                 {"0123456789x", 1, "standard"},
                 {"a", 1, "standard"}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct sample sample;
        assert_int_equal(load_with(&sample, "MGDS_SAMPLE_TEXT", cases[i].text),
                         cases[i].bad);
        assert_string_equal(sample.text, cases[i].value);
        mgds_config_table_fini(&table, &sample);
    }
}

static void name_is_taken_in_any_case(void **state)
{
    (void)state;
    struct sample sample;
    assert_int_equal(load_with(&sample, "MGDS_SAMPLE_WHO", " ALL"), 0);
    assert_int_equal(sample.who, MGDS_SUMMARY_ALL);
    mgds_config_table_fini(&table, &sample);
    assert_int_equal(load_with(&sample, "MGDS_SAMPLE_WHO", "al"), 1);
    assert_int_equal(sample.who, MGDS_SUMMARY_RANK0);
    mgds_config_table_fini(&table, &sample);
}

static void set_takes_commas_and_blanks(void **state)
{
    (void)state;
    const unsigned p2p = 1u << MGDS_PATH_P2P;
    const unsigned gpu = 1u << MGDS_PATH_IB_GPU;
    const unsigned standard = 1u << MGDS_PATH_SELF | 1u << MGDS_PATH_UCX;
    const struct {
        const char *text;
        int bad;
        unsigned value;
    } cases[] = {{"p2p", 0, p2p},
                 {"p2p,ib-gpu", 0, p2p | gpu},
                 {"ib-gpu P2P", 0, p2p | gpu},
                 {", p2p ,,p2p, ", 0, p2p},
                 {",", 0, 0},
                 {"p2p,ib", 1, standard},
                 {"p2p;ucx", 1, standard}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct sample sample;
        assert_int_equal(load_with(&sample, "MGDS_SAMPLE_WAYS", cases[i].text),
                         cases[i].bad);
        assert_int_equal(sample.ways, cases[i].value);
        mgds_config_table_fini(&table, &sample);
    }
}

static void bad_value_gets_one_line_with_all_one_needs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *line;
    } cases[] = {
        {"MGDS_SAMPLE_FLAG", "maybe",
         "MGDS_SAMPLE_FLAG 'maybe' is not yes or no: "
         "using the default 'yes'"},
        {"MGDS_SAMPLE_DEPTH", "4096",
         "MGDS_SAMPLE_DEPTH '4096' is not a whole number from 8 to 1024: "
         "using the default '64'"},
        {"MGDS_SAMPLE_TEXT", "far too long",
         "MGDS_SAMPLE_TEXT 'far too long' is not a text of 2 to 10 bytes: "
         "using the default 'standard'"},
        {"MGDS_SAMPLE_WHO", "me",
         "MGDS_SAMPLE_WHO 'me' is not one of none, rank0, all: "
         "using the default 'rank0'"},
        {"MGDS_SAMPLE_WAYS", "p2p,air",
         "MGDS_SAMPLE_WAYS 'p2p,air' is not a list of self, p2p, ib-gpu, "
         "ib-cpu, host, ucx: using the default 'self,ucx'"},
        {"MGDS_SAMPLE_WHO", "a\nb",
         "MGDS_SAMPLE_WHO 'a?b' is not one of none, rank0, all: "
         "using the default 'rank0'"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char expected[512];
        snprintf(expected, sizeof(expected), "mpix-gds[rank 7]: warn: %s\n",
                 cases[i].line);
        char *text = warnings_with(cases[i].name, cases[i].value);
        assert_string_equal(text, expected);
        free(text);
    }
}

static void check_unknown(const char *name, const char *meant)
{
    char expected[256];
    snprintf(expected, sizeof(expected),
             "mpix-gds[rank 7]: warn: unknown setting %s: ignored%s%s%s\n",
             name, meant ? ", did you mean " : "", meant ? meant : "",
             meant ? "?" : "");
    char *text = warnings_with(name, "1");
    assert_string_equal(text, expected);
    free(text);
}

static void unknown_name_is_answered_with_one_that_is_near(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *meant;
    } cases[] = {
        {"MGDS_SAMPLE_DETPH", "MGDS_SAMPLE_DEPTH"},
        {"MGDS_SAMPLE_TXT", "MGDS_SAMPLE_TEXT"},
        {"MGDS_SAMPLE_flag", "MGDS_SAMPLE_FLAG"},
        {"MGDS_SAMPLE_WAYSS", "MGDS_SAMPLE_WAYS"},
        {"MGDS_SAMPLE_", NULL},
        {"MGDS_SAMPLE_QUITE_ANOTHER", NULL},
        {"MGDSSAMPLE_FLAG", "MGDS_SAMPLE_FLAG"},
        {"MGDS_SMAPLE_DEPTH", "MGDS_SAMPLE_DEPTH"},
        {"MGDS_SAMPLED_FLAG", "MGDS_SAMPLE_FLAG"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i)
        check_unknown(cases[i].name, cases[i].meant);
}

static void unknown_name_of_any_length_is_survived(void **state)
{
    (void)state;
    char name[3000] = "MGDS_SAMPLE_";
    memset(name + strlen(name), 'Q', sizeof(name) - 1 - strlen(name));
    char *text = warnings_with(name, "1");
    assert_int_equal(mgds_count_lines(text), 1);
    free(text);
}

static void names_of_others_pass_silently(void **state)
{
    (void)state;
    static const char *const others[] = {"MGDS_SAMPLE_OTHER_THING",
                                         "MGDS_SAMPLE", "OTHER_THING_FLAG"};
    for (unsigned i = 0; i < 3; ++i) {
        char *text = warnings_with(others[i], "1");
        assert_string_equal(text, "");
        free(text);
    }
    setenv("MPIX_GDS_UCX_TLS", "tcp", 1);
    mgds_capture_start(MGDS_LOG_WARN);
    assert_int_equal(mgds_config_table_warn(&mgds_config_table), 0);
    free(mgds_capture_stop());
    unsetenv("MPIX_GDS_UCX_TLS");
}

static void library_settings_have_the_documented_defaults(void **state)
{
    (void)state;
    struct mgds_config cfg;
    assert_int_equal(mgds_config_load(&cfg), 0);
    assert_true(cfg.enable);
    assert_int_equal(cfg.log_level, MGDS_LOG_WARN);
    assert_string_equal(cfg.log_file, "");
    assert_int_equal(cfg.summary, MGDS_SUMMARY_NONE);
    assert_false(cfg.trace);
    assert_int_equal(cfg.require, 0);
    assert_true(cfg.watchdog == 10);
    assert_int_equal(cfg.dump_signal, 0);
    assert_string_equal(cfg.fault, "");
    mgds_config_fini(&cfg);
}

/* Cleans up after itself whether or not memory was there. */
static int load_and_finish(void *arg)
{
    (void)arg;
    struct mgds_config cfg;
    int rc = mgds_config_load(&cfg);
    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        assert_false(cfg.enable); /* all zero: the library stays out */
        assert_null(cfg.log_file);
        assert_null(cfg.fault);
        return rc;
    }
    mgds_config_fini(&cfg);
    return 0;
}

static void load_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, load_and_finish, NULL),
                     3); /* one for each string */
}

static void launcher_rank_is_the_first_good_one(void **state)
{
    (void)state;
    static const char *const vars[] = {"PMI_RANK", "PMIX_RANK",
                                       "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (unsigned i = 0; i < 4; ++i)
        unsetenv(vars[i]);
    assert_int_equal(mgds_config_launcher_rank(), -1);
    for (int i = 3; i >= 0; --i) {
        setenv(vars[i], (const char *[]){"10", "11", "12", "13"}[i], 1);
        assert_int_equal(mgds_config_launcher_rank(), 10 + i);
    }
    setenv("PMI_RANK", "-3", 1);
    assert_int_equal(mgds_config_launcher_rank(), 11);
    setenv("PMI_RANK", "2147483648", 1);
    assert_int_equal(mgds_config_launcher_rank(), 11);
    setenv("PMI_RANK", "2147483647", 1);
    assert_int_equal(mgds_config_launcher_rank(), INT32_MAX);
    for (unsigned i = 0; i < 4; ++i)
        unsetenv(vars[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_variables_get_their_defaults),
        cmocka_unit_test(a_variable_without_text_counts_as_not_set),
        cmocka_unit_test(bool_takes_its_spellings_and_no_others),
        cmocka_unit_test(uint_keeps_to_its_range),
        cmocka_unit_test(uint_takes_no_text_that_is_not_a_number),
        cmocka_unit_test(uint_does_not_wrap_around),
        cmocka_unit_test(d9_seconds_take_a_fraction_and_no_sign),
        cmocka_unit_test(d9_signal_is_a_name_or_number_that_can_be_caught),
        cmocka_unit_test(d9_bad_settings_of_the_watchdog_are_told),
        cmocka_unit_test(string_is_trimmed_and_bounded),
        cmocka_unit_test(name_is_taken_in_any_case),
        cmocka_unit_test(set_takes_commas_and_blanks),
        cmocka_unit_test(bad_value_gets_one_line_with_all_one_needs),
        cmocka_unit_test(unknown_name_is_answered_with_one_that_is_near),
        cmocka_unit_test(unknown_name_of_any_length_is_survived),
        cmocka_unit_test(names_of_others_pass_silently),
        cmocka_unit_test(library_settings_have_the_documented_defaults),
        cmocka_unit_test(load_survives_every_failed_allocation),
        cmocka_unit_test(launcher_rank_is_the_first_good_one),
    };
    return cmocka_run_group_tests(tests, clean_environment, NULL);
}
