/* Tests of shim/base/log.c: lines, whole and where they belong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/base/log.h"
#include "tests/lib/capture.h"
#include "tests/lib/child.h"

#define THREADS 8
#define LINES 400

static void say_at_all_levels(void *arg)
{
    (void)arg;
    mgds_err("one %d", 1);
    mgds_warn("two");
    mgds_info("three");
    mgds_debug("four");
    mgds_log_say("five");
}

static void before_set_up_warnings_reach_standard_error(void **state)
{
    (void)state;
    struct mgds_child child;
    mgds_child_run(&child, say_at_all_levels, NULL);
    int pid, more;
    assert_int_equal(sscanf(child.errors,
                            "mpix-gds[pid %d]: error: one 1\n"
                            "mpix-gds[pid %d]: warn: two\n",
                            &pid, &more),
                     2);
    assert_int_equal(pid, more);
    assert_null(strstr(child.errors, "three"));
    assert_non_null(strstr(child.errors, "]: five\n"));
}

static void each_line_is_one_write(void **state)
{
    (void)state;
    struct mgds_child child;
    mgds_child_run(&child, say_at_all_levels, NULL);
    assert_int_equal(child.writes, 3);
    assert_int_equal(mgds_count_lines(child.errors), 3);
}

static void level_decides_which_lines_are_written(void **state)
{
    (void)state;
    static const unsigned lines[] = {1, 2, 3, 4, 5};
    for (int level = MGDS_LOG_NONE; level <= MGDS_LOG_DEBUG; ++level) {
        mgds_capture_start((enum mgds_log_level)level);
        say_at_all_levels(NULL);
        char *text = mgds_capture_stop();
        assert_int_equal(mgds_count_lines(text), lines[level]);
        free(text);
    }
}

static int evaluations;

static int evaluate(void)
{
    return ++evaluations;
}

static void arguments_of_unwritten_lines_are_not_evaluated(void **state)
{
    (void)state;
    mgds_capture_start(MGDS_LOG_WARN);
    mgds_debug("%d", evaluate());
    assert_int_equal(evaluations, 0);
    mgds_warn("%d", evaluate());
    assert_int_equal(evaluations, 1);
    free(mgds_capture_stop());
}

static void rank_appears_once_it_is_known(void **state)
{
    (void)state;
    mgds_capture_start(MGDS_LOG_INFO);
    mgds_log_set_rank(-1);
    mgds_info("before");
    mgds_log_set_rank(0);
    mgds_info("after");
    char expected[128];
    snprintf(expected, sizeof(expected),
             "mpix-gds[pid %d]: info: before\nmpix-gds[rank 0]: info: after\n",
             (int)getpid());
    char *text = mgds_capture_stop();
    assert_string_equal(text, expected);
    free(text);
}

static void errno_is_kept_and_can_be_printed(void **state)
{
    (void)state;
    mgds_capture_start(MGDS_LOG_WARN);
    errno = ENOENT;
    mgds_warn("open: %m");
    assert_int_equal(errno, ENOENT);
    char *text = mgds_capture_stop();
    assert_string_equal(
        text, "mpix-gds[rank 7]: warn: open: No such file or directory\n");
    free(text);
}

static void control_characters_cannot_break_a_line(void **state)
{
    (void)state;
    mgds_capture_start(MGDS_LOG_WARN);
    mgds_warn("%s", "a\nb\rc\033[1m\td\177");
    char *text = mgds_capture_stop();
    assert_string_equal(text, "mpix-gds[rank 7]: warn: a?b?c?[1m?d?\n");
    free(text);
}

static void line_without_end_is_cut_and_marked(void **state)
{
    (void)state;
    char filler[5000];
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    for (size_t length = 980; length < 1100; ++length) {
        mgds_capture_start(MGDS_LOG_WARN);
        mgds_warn("%.*s", (int)length, filler);
        char *text = mgds_capture_stop();
        size_t written = strlen(text);
        const size_t prefix = strlen("mpix-gds[rank 7]: warn: ");
        bool cut = strstr(text, "...") != NULL;
        assert_true(written <= 1024);
        assert_int_equal(mgds_count_lines(text), 1);
        assert_int_equal(text[written - 1], '\n');
        if (cut)
            assert_string_equal(text + written - 5, "x...\n");
        assert_true(cut || written == prefix + length + 1);
        assert_true(cut == (length > 1024 - prefix - 2));
        free(text);
    }
}

static void *write_lines(void *arg)
{
    int id = *(const int *)arg;
    for (int i = 0; i < LINES; ++i)
        mgds_warn(
            "thread %d line %d %.*s.", id, i, 10 + i % 200,
            "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
    return NULL;
}

static void run_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    int ids[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, body, &ids[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void lines_of_many_threads_stay_whole(void **state)
{
    (void)state;
    int next[THREADS] = {0};
    mgds_capture_start(MGDS_LOG_WARN);
    run_threads(write_lines);
    char *text = mgds_capture_stop();
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) && *line != '\0';) {
        int id, number, end = 0;
        assert_int_equal(sscanf(line,
                                "mpix-gds[rank 7]: warn: thread %d line %d "
                                "%*[y].%n",
                                &id, &number, &end),
                         2);
        assert_int_equal(end, strlen(line));
        assert_in_range(id, 0, THREADS - 1);
        assert_int_equal(number, next[id]++); /* in order, none lost */
    }
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(next[i], LINES);
    free(text);
}

static void *warn_the_same(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; ++i)
        mgds_warn_once("said once");
    return NULL;
}

static void warn_once_speaks_once_in_all_threads(void **state)
{
    (void)state;
    mgds_capture_start(MGDS_LOG_WARN);
    run_threads(warn_the_same);
    char *text = mgds_capture_stop();
    assert_string_equal(text, "mpix-gds[rank 7]: warn: said once\n");
    free(text);
}

static void log_into_no_directory(void *pattern)
{
    mgds_log_init(MGDS_LOG_WARN, (const char *)pattern, 2);
    mgds_warn("still heard");
}

static void unwritable_file_is_named_and_standard_error_used(void **state)
{
    (void)state;
    struct mgds_child child;
    char path[] = "/nonexistent/dir/log.%r";
    mgds_child_run(&child, log_into_no_directory, path);
    assert_string_equal(
        child.errors,
        "mpix-gds[rank 2]: warn: log file '/nonexistent/dir/log.2': No such "
        "file or directory: using standard error\n"
        "mpix-gds[rank 2]: warn: still heard\n");
    char wrong[] = "log.%z";
    mgds_child_run(&child, log_into_no_directory, wrong);
    assert_string_equal(child.errors,
                        "mpix-gds[rank 2]: warn: log file 'log.%z': Invalid "
                        "argument: using standard error\n"
                        "mpix-gds[rank 2]: warn: still heard\n");
}

static void file_is_appended_to_under_its_filled_name(void **state)
{
    (void)state;
    char folder[] = "/tmp/mgds-log-XXXXXX";
    char pattern[64], path[64], text[256] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(pattern, sizeof(pattern), "%s/log.%%r", folder);
    snprintf(path, sizeof(path), "%s/log.5", folder);
    for (int i = 0; i < 2; ++i) {
        mgds_log_init(MGDS_LOG_INFO, pattern, 5);
        mgds_info("run %d", i);
        mgds_log_fini();
    }
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, "mpix-gds[rank 5]: info: run 0\n"
                              "mpix-gds[rank 5]: info: run 1\n");
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_set_up_warnings_reach_standard_error),
        cmocka_unit_test(each_line_is_one_write),
        cmocka_unit_test(level_decides_which_lines_are_written),
        cmocka_unit_test(arguments_of_unwritten_lines_are_not_evaluated),
        cmocka_unit_test(rank_appears_once_it_is_known),
        cmocka_unit_test(errno_is_kept_and_can_be_printed),
        cmocka_unit_test(control_characters_cannot_break_a_line),
        cmocka_unit_test(line_without_end_is_cut_and_marked),
        cmocka_unit_test(lines_of_many_threads_stay_whole),
        cmocka_unit_test(warn_once_speaks_once_in_all_threads),
        cmocka_unit_test(unwritable_file_is_named_and_standard_error_used),
        cmocka_unit_test(file_is_appended_to_under_its_filled_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
