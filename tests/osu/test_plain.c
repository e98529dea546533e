/* Patterns, layouts, plans and figures: the arithmetic of the benchmarks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "osu-extensions/pattern.h"
#include "osu-extensions/plan.h"
#include "osu-extensions/release.h"
#include "osu-extensions/stats.h"

#define BYTES 100

static void a_pattern_checks_against_itself_at_any_position(void **state)
{
    unsigned char buffer[BYTES];
    struct mgds_bench_mismatch wrong;

    (void)state;
    for (size_t position = 0; position < 20; position++) {
        for (size_t size = 0; size < 40; size++) {
            struct mgds_bench_pattern p = {7, position, MGDS_BENCH_DATA};

            mgds_bench_pattern_fill(p, buffer, size);
            assert_int_equal(mgds_bench_pattern_check(p, buffer, size, &wrong),
                             0);
        }
    }
}

static void a_part_of_a_stream_equals_the_stream(void **state)
{
    unsigned char whole[BYTES];
    unsigned char part[BYTES];
    struct mgds_bench_pattern p = {99, 0, MGDS_BENCH_DATA};

    (void)state;
    mgds_bench_pattern_fill(p, whole, BYTES);
    for (p.position = 0; p.position < 50; p.position++) {
        mgds_bench_pattern_fill(p, part, 50);
        assert_memory_equal(part, whole + p.position, 50);
    }
}

static void any_single_wrong_byte_is_found(void **state)
{
    unsigned char buffer[BYTES];
    struct mgds_bench_pattern p = {3, 5, MGDS_BENCH_DATA};
    struct mgds_bench_mismatch wrong;

    (void)state;
    mgds_bench_pattern_fill(p, buffer, BYTES);
    for (size_t i = 0; i < BYTES; i++) {
        unsigned char right = buffer[i];

        buffer[i] ^= 1;
        assert_int_equal(mgds_bench_pattern_check(p, buffer, BYTES, &wrong), 1);
        assert_int_equal(wrong.offset, i);
        assert_int_equal(wrong.expected, right);
        assert_int_equal(wrong.got, right ^ 1);
        buffer[i] = right;
    }
}

static void poison_is_wrong_in_every_byte(void **state)
{
    unsigned char data[BYTES];
    unsigned char poison[BYTES];
    struct mgds_bench_pattern p = {11, 3, MGDS_BENCH_DATA};

    (void)state;
    mgds_bench_pattern_fill(p, data, BYTES);
    p.flip = MGDS_BENCH_POISON;
    mgds_bench_pattern_fill(p, poison, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(data[i] ^ poison[i], 0xff);
}

/* Row, batch and sender each change it, and do not stand for each other. */
static void seeds_differ_by_row_batch_and_sender(void **state)
{
    uint64_t seen[64];
    size_t count = 0;

    (void)state;
    for (uint64_t i = 0; i < 64; i++) {
        seen[count] = mgds_bench_seed(i / 16, i / 4 % 4, i % 4);
        for (size_t j = 0; j < count; j++)
            assert_true(seen[j] != seen[count]);
        count++;
    }
}

static void ddt_make(struct mgds_bench_ddt *ddt, const char *text)
{
    char why[256] = "";

    if (mgds_bench_ddt_init(ddt, text, why) < 0)
        fail_msg("%s: %s", text, why);
}

static void a_plain_layout_is_the_elements_that_fit(void **state)
{
    struct mgds_bench_ddt none = {.kind = MGDS_BENCH_DDT_NONE};
    struct mgds_bench_layout l;

    (void)state;
    assert_int_equal(mgds_bench_layout_init(&l, &none, 4, 11), 0);
    assert_int_equal(l.data, 8);
    assert_int_equal(l.span, 8);
    assert_int_equal(l.blocks, 1);
    assert_int_equal(mgds_bench_layout_init(&l, &none, 4, 3), -ENODATA);
    assert_int_equal(mgds_bench_layout_init(&l, &none, 4, 0), 0);
    assert_int_equal(l.data, 0);
}

static void a_vector_leaves_gaps_and_ends_with_a_block(void **state)
{
    struct mgds_bench_ddt ddt;
    struct mgds_bench_layout l;
    struct mgds_bench_piece last;

    (void)state;
    ddt_make(&ddt, "vect:8:3");
    assert_int_equal(mgds_bench_layout_init(&l, &ddt, 4, 100), 0);
    assert_int_equal(l.blocks, 3);
    assert_int_equal(l.data, 3 * 3 * 4);
    assert_int_equal(l.span, (2 * 8 + 3) * 4);
    last = mgds_bench_layout_piece(&l, 2);
    assert_int_equal(last.offset, 64);
    assert_int_equal(last.length, 12);
    assert_int_equal(mgds_bench_layout_init(&l, &ddt, 4, 31), -ENODATA);
}

/* Writes text to a file and reads it as an indx type; the result. */
static int indx_read(struct mgds_bench_ddt *ddt, const char *text,
                     char why[256])
{
    char option[64] = "indx:/tmp/mgds-indx-XXXXXX";
    int fd = mkstemp(option + 5);
    FILE *file;
    int rc;

    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    rc = mgds_bench_ddt_init(ddt, option, why);
    unlink(option + 5);
    return rc;
}

static void an_index_keeps_the_blocks_that_fit(void **state)
{
    struct mgds_bench_ddt ddt;
    struct mgds_bench_layout l;
    struct mgds_bench_piece piece;
    char why[256];

    (void)state;
    assert_int_equal(
        indx_read(&ddt, "# offset,length\n1,2\n\n 5 1\n8, 4\n", why), 0);
    assert_int_equal(ddt.count, 3);
    assert_int_equal(mgds_bench_layout_init(&l, &ddt, 4, 44), 0);
    assert_int_equal(l.blocks, 2);
    assert_int_equal(l.data, 12);
    assert_int_equal(l.span, 24);
    piece = mgds_bench_layout_piece(&l, 1);
    assert_int_equal(piece.offset, 20);
    assert_int_equal(piece.length, 4);
    assert_int_equal(mgds_bench_layout_init(&l, &ddt, 4, 8), -ENODATA);
    mgds_bench_ddt_fini(&ddt);
}

static void bad_index_files_are_refused_by_line(void **state)
{
    static const char *const texts[] = {
        "0,1\n0,1\n", "0,2\n1,2\n",   "0,1\n4,0\n",  "0,1\nx\n",
        "0,1\n4\n",   "0,1\n4,1,9\n", "0,1\n-4,1\n",
    };
    struct mgds_bench_ddt ddt;
    char why[256];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(indx_read(&ddt, texts[i], why), -EINVAL);
        if (!strstr(why, "line 2"))
            fail_msg("%s: %s", texts[i], why);
    }
    assert_int_equal(indx_read(&ddt, "# nothing\n", why), -EINVAL);
    assert_non_null(strstr(why, "no block"));
}

static const struct mgds_bench_options plain = {
    .counts = {1000, 10, 100, 1},
    .window = 1,
    .untimed = -1,
};

static void small_messages_share_a_batch_and_large_ones_do_not(void **state)
{
    struct mgds_bench_plan p;

    (void)state;
    assert_int_equal(mgds_bench_plan_init(&p, &plain, MGDS_BENCH_CHAR, 8, 1),
                     0);
    assert_int_equal(p.laps, MGDS_BENCH_BATCH_LAPS);
    assert_int_equal(p.untimed, 1);
    assert_int_equal(p.iterations, 1000);
    assert_int_equal(
        mgds_bench_plan_init(&p, &plain, MGDS_BENCH_CHAR, 1 << 20, 64), 0);
    assert_int_equal(p.laps, 1);
    assert_int_equal(p.untimed, 0);
    assert_int_equal(p.iterations, 100);
}

/* Nothing that is received overlaps, and every message has its guard. */
static void received_messages_lie_apart(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 100000};
    struct mgds_bench_plan p;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(
            mgds_bench_plan_init(&p, &plain, MGDS_BENCH_CHAR, sizes[i], 8), 0);
        assert_true(p.recv_step >= sizes[i] + MGDS_BENCH_GUARD);
        assert_int_equal(p.recv_bytes,
                         8 * mgds_bench_plan_batch(&p) * p.recv_step);
    }
}

static void sent_messages_share_memory_unless_told_not_to(void **state)
{
    struct mgds_bench_options o = plain;
    struct mgds_bench_plan p;

    (void)state;
    assert_int_equal(mgds_bench_plan_init(&p, &o, MGDS_BENCH_CHAR, 1 << 20, 64),
                     0);
    assert_true(p.send_step > 0 && p.send_bytes < 2 << 20);
    o.multiple = true;
    assert_int_equal(mgds_bench_plan_init(&p, &o, MGDS_BENCH_CHAR, 1 << 20, 64),
                     0);
    assert_int_equal(p.send_step, p.recv_step);
    assert_int_equal(p.send_bytes, p.recv_bytes);
}

static void percentiles_are_nearest_ranks(void **state)
{
    double samples[] = {5, 1, 4, 2, 3};
    double one[] = {7};

    (void)state;
    mgds_bench_samples_sort(samples, 5);
    assert_true(samples[0] == 1 && samples[4] == 5);
    assert_true(mgds_bench_samples_percentile(samples, 5, 1) == 1);
    assert_true(mgds_bench_samples_percentile(samples, 5, 20) == 1);
    assert_true(mgds_bench_samples_percentile(samples, 5, 21) == 2);
    assert_true(mgds_bench_samples_percentile(samples, 5, 50) == 3);
    assert_true(mgds_bench_samples_percentile(samples, 5, 99) == 5);
    assert_true(mgds_bench_samples_mean(samples, 5) == 3);
    assert_true(mgds_bench_samples_percentile(one, 1, 50) == 7);
}

static void releases_of_both_kernel_modules_are_read(void **state)
{
    static const struct {
        const char *line;
        const char *release;
    } cases[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug "
         "19 01:15:15 UTC 2023\n",
         "535.104.05"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  "
         "Release Build  (dvs-builder@U22-I3-AE18-23-3)  Tue Sep 23 10:11:16 "
         "UTC 2025\n",
         "580.95.05"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.86.15 "
         "\n",
         "570.86.15"},
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82", "470.82"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64\n", ""},
        {"GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[32] = "untouched";
        int rc = mgds_bench_release_parse(cases[i].line, out, sizeof(out));

        assert_string_equal(out, cases[i].release);
        assert_int_equal(rc, cases[i].release[0] ? 0 : -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_checks_against_itself_at_any_position),
        cmocka_unit_test(a_part_of_a_stream_equals_the_stream),
        cmocka_unit_test(any_single_wrong_byte_is_found),
        cmocka_unit_test(poison_is_wrong_in_every_byte),
        cmocka_unit_test(seeds_differ_by_row_batch_and_sender),
        cmocka_unit_test(a_plain_layout_is_the_elements_that_fit),
        cmocka_unit_test(a_vector_leaves_gaps_and_ends_with_a_block),
        cmocka_unit_test(an_index_keeps_the_blocks_that_fit),
        cmocka_unit_test(bad_index_files_are_refused_by_line),
        cmocka_unit_test(small_messages_share_a_batch_and_large_ones_do_not),
        cmocka_unit_test(received_messages_lie_apart),
        cmocka_unit_test(sent_messages_share_memory_unless_told_not_to),
        cmocka_unit_test(percentiles_are_nearest_ranks),
        cmocka_unit_test(releases_of_both_kernel_modules_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
