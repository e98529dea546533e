/* Tests of shim/base/trace.c: rings that wrap, and their dump. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "shim/base/trace.h"
#include "tests/lib/capture.h"
#include "tests/lib/fault_sweep.h"

#define THREADS 4
#define KEPT (MGDS_TRACE_RING - 1)

static const char *const names[] = {"Send", "Recv"};

static int start(void **state)
{
    (void)state;
    return mgds_trace_start();
}

static int finish(void **state)
{
    (void)state;
    mgds_trace_fini();
    return 0;
}

/* All rings as text; the caller frees it. */
static char *dump(int *count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    *count = mgds_trace_dump(out);
    fclose(out);
    return text;
}

static void nothing_is_recorded_while_off(void **state)
{
    (void)state;
    int count;
    mgds_trace_stop();
    mgds_trace_call_enter(1);
    mgds_trace_init();
    char *text = dump(&count);
    assert_string_equal(text, "# events 0, older ones overwritten 0\n");
    assert_int_equal(count, 0);
    free(text);
}

static void probes_do_not_record(void **state)
{
    (void)state;
    int count;
    mgds_probe_init();
    mgds_probe_call_enter(1);
    mgds_probe_call_leave(1, 0);
    free(dump(&count));
    assert_int_equal(count, 0);
}

static void events_come_out_with_time_thread_name_and_fields(void **state)
{
    (void)state;
    static const char *const expected[] = {"init",
                                           "call_enter call Recv",
                                           "call_leave call Recv result -1",
                                           "cuda_seen",
                                           "libraries_changed count 3",
                                           "abi_checked kind 2",
                                           "next_resolved call ?",
                                           "finalize"};
    int count;
    assert_int_equal(mgds_stats_calls_init(2, names), 0);
    mgds_trace_init();
    mgds_trace_call_enter(1);
    mgds_trace_call_leave(1, -1);
    mgds_trace_cuda_seen();
    mgds_trace_libraries_changed(3);
    mgds_trace_abi_checked(2);
    mgds_trace_next_resolved(2);
    mgds_trace_finalize();
    char *text = dump(&count);
    mgds_stats_fini();
    assert_int_equal(count, 8);
    char *rest = text;
    assert_string_equal(strsep(&rest, "\n"),
                        "# events 8, older ones overwritten 0");
    uint64_t last = 0;
    for (unsigned i = 0; i < 8; ++i) {
        char *line = strsep(&rest, "\n");
        uint64_t seconds, ns;
        int thread, end = 0;
        assert_int_equal(sscanf(line, "%" SCNu64 ".%9" SCNu64 " %d %n",
                                &seconds, &ns, &thread, &end),
                         3);
        assert_int_equal(thread, gettid());
        assert_string_equal(line + end, expected[i]);
        assert_true(seconds * 1000000000u + ns >= last);
        last = seconds * 1000000000u + ns;
    }
    assert_string_equal(rest, "");
    free(text);
}

static void full_ring_keeps_the_last_events(void **state)
{
    (void)state;
    const int64_t written = 2 * MGDS_TRACE_RING + 17;
    int count;
    for (int64_t i = 0; i < written; ++i)
        mgds_trace_libraries_changed(i);
    char *text = dump(&count);
    assert_int_equal(count, KEPT);
    char *rest = text;
    char expected[64];
    snprintf(expected, sizeof(expected),
             "# events %d, older ones overwritten %" PRId64, KEPT,
             written - KEPT);
    assert_string_equal(strsep(&rest, "\n"), expected);
    for (int64_t i = written - KEPT; i < written; ++i) {
        snprintf(expected, sizeof(expected),
                 " libraries_changed count %" PRId64, i);
        char *line = strsep(&rest, "\n");
        assert_non_null(strstr(line, expected));
    }
    free(text);
}

static void *trace_one(void *arg)
{
    mgds_trace_abi_checked(*(int *)arg);
    return NULL;
}

static void events_outlive_their_threads(void **state)
{
    (void)state;
    int count;
    for (int i = 0; i < 10; ++i) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, trace_one, &i), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    char *text = dump(&count);
    assert_int_equal(count, 10);
    char *rest = text;
    strsep(&rest, "\n");
    for (int i = 0; i < 10; ++i) {
        int thread, kind;
        assert_int_equal(sscanf(strsep(&rest, "\n"),
                                "%*u.%*u %d abi_checked kind %d", &thread,
                                &kind),
                         2);
        assert_int_equal(kind, i);
        assert_int_not_equal(thread, gettid());
    }
    free(text);
}

static atomic_bool enough;
static atomic_uint running;

static void *trace_twins(void *arg)
{
    (void)arg;
    atomic_fetch_add(&running, 1);
    for (int64_t i = 0; !atomic_load(&enough); ++i)
        mgds_trace_call_leave(i % 7, i % 7);
    return NULL;
}

/* Both fields of an event are equal. Events that share a slot differ, as 7
 * does not divide the size of a ring: a mix of two would show. */
static void dump_while_threads_write_shows_whole_events_only(void **state)
{
    (void)state;
    static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6"};
    pthread_t threads[THREADS];
    int shown = 0;
    assert_int_equal(mgds_stats_calls_init(7, digits), 0);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, trace_twins, NULL),
                         0);
    while (atomic_load(&running) < THREADS)
        sched_yield();
    for (int round = 0; round < 20; ++round) {
        int count;
        char *text = dump(&count);
        char *rest = text;
        strsep(&rest, "\n");
        for (char *line; (line = strsep(&rest, "\n")) && *line != '\0';) {
            int call, result;
            assert_int_equal(sscanf(line,
                                    "%*u.%*u %*d call_leave call %d result %d",
                                    &call, &result),
                             2);
            assert_int_equal(call, result);
            ++shown;
        }
        assert_in_range(count, 0, THREADS * KEPT);
        free(text);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    mgds_stats_fini();
    assert_true(shown > 0);
}

static void file_gets_its_filled_name(void **state)
{
    (void)state;
    char folder[] = "/tmp/mgds-trace-XXXXXX";
    char pattern[64], path[64], text[256] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(pattern, sizeof(pattern), "%s/%%r.txt", folder);
    snprintf(path, sizeof(path), "%s/3.txt", folder);
    mgds_trace_cuda_seen();
    assert_int_equal(mgds_trace_write(pattern, 3), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, " cuda_seen\n"));
    unlink(path);
    rmdir(folder);
}

static void file_that_cannot_be_written_gets_one_line(void **state)
{
    (void)state;
    mgds_capture_start(MGDS_LOG_ERROR);
    mgds_trace_init();
    assert_int_equal(mgds_trace_write("/nonexistent/x", 0), -ENOENT);
    assert_int_equal(mgds_trace_write("%q", 0), -EINVAL);
    assert_int_equal(mgds_trace_write("/dev/full", 0), -ENOSPC);
    char *text = mgds_capture_stop();
    assert_string_equal(text, "mpix-gds[rank 7]: error: trace file "
                              "'/nonexistent/x': No such file or directory\n"
                              "mpix-gds[rank 7]: error: trace file '%q': "
                              "Invalid argument\n"
                              "mpix-gds[rank 7]: error: trace file "
                              "'/dev/full': No space left on device\n");
    free(text);
}

/* Who may write to a folder of many must not have another file written. */
static void file_behind_a_link_is_not_written(void **state)
{
    (void)state;
    char folder[] = "/tmp/mgds-trace-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/link", folder);
    assert_int_equal(symlink("file", path), 0);
    mgds_capture_start(MGDS_LOG_ERROR);
    mgds_trace_init();
    assert_int_equal(mgds_trace_write(path, 0), -ELOOP);
    char *text = mgds_capture_stop();
    assert_non_null(strstr(text, "no symbolic link is followed here"));
    free(text);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static int trace_and_dump(void *arg)
{
    (void)arg;
    int count = 0;
    uint64_t lost = mgds_stats_value(MGDS_STAT_trace_events_lost);
    assert_int_equal(mgds_trace_start(), 0);
    mgds_trace_init();
    lost = mgds_stats_value(MGDS_STAT_trace_events_lost) - lost;
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    count = mgds_trace_dump(out);
    fclose(out);
    mgds_trace_fini();
    if (lost > 0)
        assert_int_equal(count, 0);
    return lost > 0 || count == -ENOMEM ? -ENOMEM : 0;
}

static void without_memory_events_are_counted_as_lost(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, trace_and_dump, NULL),
                     2); /* the ring, the dump */
}

#define TRACE_TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACE_TEST(nothing_is_recorded_while_off),
        TRACE_TEST(probes_do_not_record),
        TRACE_TEST(events_come_out_with_time_thread_name_and_fields),
        TRACE_TEST(full_ring_keeps_the_last_events),
        TRACE_TEST(events_outlive_their_threads),
        TRACE_TEST(dump_while_threads_write_shows_whole_events_only),
        TRACE_TEST(file_gets_its_filled_name),
        TRACE_TEST(file_that_cannot_be_written_gets_one_line),
        TRACE_TEST(file_behind_a_link_is_not_written),
        cmocka_unit_test(without_memory_events_are_counted_as_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
