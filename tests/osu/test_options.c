/* Command lines that the benchmarks accept, and lines they refuse. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "osu-extensions/options.h"
#include "shim/base/config.h"

#define WORDS_MAX 32

static const struct mgds_bench_spec latency = {
    .name = "osu_latency",
    .title = "OSU MPI%s Latency Test",
    .letters = MGDS_BENCH_LETTERS,
    .metric = MGDS_BENCH_LATENCY,
    .counts = {10000, 100, 1000, 10},
};

static const struct mgds_bench_spec mbw_mr = {
    .name = "osu_mbw_mr",
    .title = "OSU MPI%s Multiple Bandwidth / Message Rate Test",
    .letters = MGDS_BENCH_LETTERS "WpVR",
    .metric = MGDS_BENCH_RATE,
    .counts = {100, 10, 20, 2},
};

/* Parses a line of words parted by single blanks. */
static int parse(struct mgds_bench_options *options,
                 const struct mgds_bench_spec *spec, const char *line,
                 char why[256])
{
    static char text[512]; /* options keep pointers into it */
    char *words[WORDS_MAX + 1] = {NULL};
    int count = 0;

    snprintf(text, sizeof(text), "%s %s", spec->name, line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    return mgds_bench_options_init(options, spec, count, words, why);
}

static void accept(struct mgds_bench_options *options,
                   const struct mgds_bench_spec *spec, const char *line)
{
    char why[256] = "";

    if (parse(options, spec, line, why) < 0)
        fail_msg("\"%s\" refused: %s", line, why);
}

static void defaults_are_those_of_osu(void **state)
{
    struct mgds_bench_options o;

    (void)state;
    accept(&o, &latency, "");
    assert_int_equal(o.action, MGDS_BENCH_RUN);
    assert_int_equal(o.min_size, 1);
    assert_int_equal(o.max_size, 4194304);
    assert_int_equal(mgds_bench_iterations(&o, 8192), 10000);
    assert_int_equal(mgds_bench_iterations(&o, 8193), 1000);
    assert_int_equal(mgds_bench_warmup(&o, 8192), 100);
    assert_int_equal(mgds_bench_warmup(&o, 8193), 10);
    assert_int_equal(o.window, 1);
    assert_false(o.rate || o.column || o.multiple || o.session || o.cuda);
    assert_int_equal(o.types_count, 1);
    assert_int_equal(o.types[0], MGDS_BENCH_CHAR);
    assert_int_equal(o.kind[0], MGDS_BENCH_HOST);
    assert_int_equal(o.kind[1], MGDS_BENCH_HOST);
    assert_null(o.json);
    accept(&o, &mbw_mr, "");
    assert_int_equal(o.window, 64);
    assert_true(o.rate);
}

static void sizes_are_a_maximum_or_a_range(void **state)
{
    static const struct {
        const char *line;
        size_t low;
        size_t high;
    } cases[] = {
        {"-m 128", 1, 128},    {"-m 2:128", 2, 128},
        {"-m 2:", 2, 4194304}, {"-m :64", 1, 64},
        {"-m 0", 0, 0},        {"-m 0:8", 0, 8},
        {"-m 8:8", 8, 8},      {"--message-size=16", 1, 16},
        {"-m 7 -m 3:5", 3, 5}, {"-m2147483647", 1, 2147483647},
    };
    struct mgds_bench_options o;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        accept(&o, &latency, cases[i].line);
        assert_int_equal(o.min_size, cases[i].low);
        assert_int_equal(o.max_size, cases[i].high);
    }
}

static void every_letter_reaches_its_field(void **state)
{
    struct mgds_bench_options o;

    (void)state;
    accept(&o, &mbw_mr,
           "-i 7 -x 0 -W 5 -p 3 -R 0 -M 2097152 -c -u 4 -d CUDA -b multiple "
           "-T MPI_INT -I");
    assert_int_equal(mgds_bench_iterations(&o, 1), 7);
    assert_int_equal(mgds_bench_iterations(&o, 10000), 7);
    assert_int_equal(mgds_bench_warmup(&o, 1), 0);
    assert_int_equal(mgds_bench_warmup(&o, 10000), 0);
    assert_int_equal(o.window, 5);
    assert_int_equal(o.pairs, 3);
    assert_false(o.rate);
    assert_int_equal(o.memory_limit, 2097152);
    assert_true(o.column && o.cuda && o.multiple && o.session);
    assert_int_equal(o.untimed, 4);
    assert_int_equal(o.types_count, 1);
    assert_int_equal(o.types[0], MGDS_BENCH_INT);
    accept(&o, &mbw_mr, "-V -T all --json=out.json");
    assert_true(o.vary_window);
    assert_int_equal(o.types_count, 3);
    assert_int_equal(o.types[2], MGDS_BENCH_FLOAT);
    assert_string_equal(o.json, "out.json");
    assert_int_equal(o.gpu, -1);
    assert_false(o.copies);
    accept(&o, &mbw_mr, "--gpu 3 --copies D D");
    assert_int_equal(o.gpu, 3);
    assert_true(o.copies);
}

static void help_and_version_end_the_parsing(void **state)
{
    struct mgds_bench_options o;

    (void)state;
    accept(&o, &latency, "-h -m nonsense");
    assert_int_equal(o.action, MGDS_BENCH_HELP);
    accept(&o, &latency, "--help");
    assert_int_equal(o.action, MGDS_BENCH_HELP);
    accept(&o, &latency, "-v");
    assert_int_equal(o.action, MGDS_BENCH_VERSION);
    accept(&o, &latency, "--version");
    assert_int_equal(o.action, MGDS_BENCH_VERSION);
}

static void percentiles_are_a_list_joined_to_the_letter(void **state)
{
    struct mgds_bench_options o;

    (void)state;
    accept(&o, &latency, "-z");
    assert_int_equal(o.tails_count, 3);
    assert_int_equal(o.tails[0], 50);
    assert_int_equal(o.tails[2], 99);
    accept(&o, &latency, "-z1,75,99");
    assert_int_equal(o.tails_count, 3);
    assert_int_equal(o.tails[1], 75);
    accept(&o, &latency, "--tail-lat=5");
    assert_int_equal(o.tails_count, 1);
    assert_int_equal(o.tails[0], 5);
}

static void buffer_kinds_stand_before_or_behind_options(void **state)
{
    struct mgds_bench_options o;

    (void)state;
    accept(&o, &latency, "-i 5 D MH");
    assert_int_equal(o.kind[0], MGDS_BENCH_DEVICE);
    assert_int_equal(o.kind[1], MGDS_BENCH_MANAGED_HOST);
    accept(&o, &latency, "MD H -i 5");
    assert_int_equal(o.kind[0], MGDS_BENCH_MANAGED_DEVICE);
    assert_int_equal(o.kind[1], MGDS_BENCH_HOST);
    assert_int_equal(mgds_bench_iterations(&o, 1), 5);
}

static void derived_types_are_named_with_their_numbers(void **state)
{
    struct mgds_bench_options o;

    (void)state;
    accept(&o, &latency, "-D cont");
    assert_int_equal(o.ddt.kind, MGDS_BENCH_DDT_CONT);
    accept(&o, &latency, "-D vect");
    assert_int_equal(o.ddt.stride, 8);
    assert_int_equal(o.ddt.length, 4);
    accept(&o, &latency, "-D vect:2");
    assert_int_equal(o.ddt.stride, 2);
    assert_int_equal(o.ddt.length, 2);
    accept(&o, &latency, "--ddt vect:16:3");
    assert_int_equal(o.ddt.kind, MGDS_BENCH_DDT_VECT);
    assert_int_equal(o.ddt.stride, 16);
    assert_int_equal(o.ddt.length, 3);
}

static void rivals_are_named_and_bring_rounds(void **state)
{
    struct mgds_bench_spec enqueued = mbw_mr;
    struct mgds_bench_options o;
    char why[256];

    (void)state;
    enqueued.enqueued = true;
    accept(&o, &enqueued, "");
    assert_int_equal(o.rivals, 0);
    assert_int_equal(o.rounds, 1);
    accept(&o, &enqueued, "--rivals nvshmem,copy --nvshmem /x");
    assert_int_equal(o.rivals,
                     MGDS_BENCH_RIVAL_COPY | MGDS_BENCH_RIVAL_NVSHMEM);
    assert_int_equal(o.rounds, 3);
    assert_false(o.rivals_auto);
    assert_string_equal(o.nvshmem, "/x");
    accept(&o, &enqueued, "--rivals auto --rounds 5");
    assert_int_equal(o.rivals, 7);
    assert_true(o.rivals_auto);
    assert_int_equal(o.rounds, 5);
    accept(&o, &enqueued, "--rivals auto --rivals none");
    assert_int_equal(o.rivals, 0);
    assert_int_equal(parse(&o, &enqueued, "--rivals nccl -V", why), -EINVAL);
    assert_non_null(strstr(why, "--rivals and -V"));
    assert_int_equal(parse(&o, &enqueued, "--rivals nccl,", why), -EINVAL);
    assert_non_null(strstr(why, "--rivals nccl,"));
    assert_int_equal(parse(&o, &enqueued, "--rounds 26", why), -EINVAL);
    assert_int_equal(parse(&o, &latency, "--rivals none", why), -EINVAL);
    assert_non_null(strstr(why, "not one of osu_latency"));
}

/* Each that the library has, in either case, and no other. */
static void triggers_are_those_of_the_library(void **state)
{
    struct mgds_bench_spec enqueued = mbw_mr;
    struct mgds_bench_options o;
    char line[64];
    char why[256];

    (void)state;
    enqueued.enqueued = true;
    accept(&o, &enqueued, "--trigger MEMOP");
    assert_string_equal(o.trigger, "MEMOP");
    assert_int_equal(parse(&o, &enqueued, "--trigger memo", why), -EINVAL);
    assert_non_null(strstr(why, "--trigger memo:"));
    for (int i = 0; mgds_trigger_names[i]; i++) {
        assert_non_null(strstr(why, mgds_trigger_names[i]));
        snprintf(line, sizeof(line), "--trigger %s", mgds_trigger_names[i]);
        accept(&o, &enqueued, line);
    }
    assert_int_equal(parse(&o, &enqueued, "--trigger auto --trigger x", why),
                     -EINVAL);
}

/* A refused line gives one line that holds the name of what is wrong. */
static void bad_lines_are_refused_by_name(void **state)
{
    static const struct {
        const char *line;
        const char *named;
    } cases[] = {
        {"-m", "-m lacks"},
        {"-m x", "-m x"},
        {"-m -1", "-m -1"},
        {"-m :", "-m :"},
        {"-m 1:2:3", "-m 1:2:3"},
        {"-m 8x:16", "-m 8x:16"},
        {"-m 64:2", "-m 64:2"},
        {"-m 2147483648", "-m 2147483648"},
        {"-m 99999999999999999999999", "-m 99999"},
        {"-i 0", "-i 0"},
        {"-i 1.5", "-i 1.5"},
        {"-i", "-i lacks"},
        {"-x -2", "-x -2"},
        {"-W 0", "-W 0"},
        {"-W 65537", "-W 65537"},
        {"-V -W 8", "-V and -W"},
        {"-p 0", "-p 0"},
        {"-R 2", "-R 2"},
        {"-M 100", "-M 100"},
        {"-clog:dir", "-clog:dir"},
        {"-u 11", "-u 11"},
        {"-d rocm", "-d rocm"},
        {"-b double", "-b double"},
        {"-T mpi_long", "-T mpi_long"},
        {"-D", "-D lacks"},
        {"-D struct", "-D struct"},
        {"-D vect:0:0", "vect:0:0"},
        {"-D vect:4:8", "vect:4:8"},
        {"-D vect:8x", "vect:8x"},
        {"-D vect:8:4:2", "vect:8:4:2"},
        {"-D vect:", "vect:"},
        {"-D indx", "-D indx:FILE"},
        {"-D indx:/nowhere/at/all", "/nowhere/at/all"},
        {"-z0", "-z0"},
        {"-z100", "-z100"},
        {"-z50,", "-z50,"},
        {"-z1,2,3,4,5,6", "-z1,2,3,4,5,6"},
        {"-P PAPI_TOT_CYC:out", "-P"},
        {"-G png", "-G"},
        {"-s", "-s"},
        {"--nonsense", "--nonsense"},
        {"--json", "--json"},
        {"--gpu", "--gpu"},
        {"--gpu -1", "--gpu -1"},
        {"--gpu one", "--gpu one"},
        {"--json=", "--json"},
        {"H", "H"},
        {"H H H", "buffer kinds"},
        {"M M", "kind M"},
        {"H X", "kind X"},
        {"h h", "kind h"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mgds_bench_options o;
        char why[256] = "";

        if (parse(&o, &mbw_mr, cases[i].line, why) >= 0)
            fail_msg("\"%s\" accepted", cases[i].line);
        if (!strstr(why, cases[i].named) || strchr(why, '\n'))
            fail_msg("\"%s\": \"%s\"", cases[i].line, why);
    }
}

static void letters_of_other_programs_are_refused(void **state)
{
    static const char *const lines[] = {"-W 8", "-V", "-p 1", "-R 1"};
    struct mgds_bench_options o;
    char why[256];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_true(parse(&o, &latency, lines[i], why) < 0);
        assert_non_null(strstr(why, "is not one of osu_latency"));
    }
}

static void help_names_every_accepted_option(void **state)
{
    char text[8192] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");

    (void)state;
    assert_non_null(out);
    mgds_bench_options_help(out, &latency);
    fclose(out);
    for (const char *letter = latency.letters; *letter; letter++) {
        char word[] = {'-', *letter, ',', '\0'};

        if (!strstr(text, word))
            fail_msg("no %s in the help", word);
    }
    assert_non_null(strstr(text, "--json"));
    assert_null(strstr(text, "-W,"));
    assert_null(strstr(text, "-P,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_osu),
        cmocka_unit_test(sizes_are_a_maximum_or_a_range),
        cmocka_unit_test(every_letter_reaches_its_field),
        cmocka_unit_test(help_and_version_end_the_parsing),
        cmocka_unit_test(percentiles_are_a_list_joined_to_the_letter),
        cmocka_unit_test(buffer_kinds_stand_before_or_behind_options),
        cmocka_unit_test(derived_types_are_named_with_their_numbers),
        cmocka_unit_test(rivals_are_named_and_bring_rounds),
        cmocka_unit_test(triggers_are_those_of_the_library),
        cmocka_unit_test(bad_lines_are_refused_by_name),
        cmocka_unit_test(letters_of_other_programs_are_refused),
        cmocka_unit_test(help_names_every_accepted_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
