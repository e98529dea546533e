/* Tests of shim/base/trace_file.c and trace_json.c: what is in the file, while
 * it grows, when it is closed, and when its writer was killed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/base/json.h"
#include "shim/base/stats.h"
#include "shim/base/trace.h"
#include "shim/base/trace_file.h"
#include "tests/lib/capture.h"

static const char *const names[] = {"MPI_Send", "MPIX_Recv_enqueue"};
static char folder[64], path[96];

static int start(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/mgds-trace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/3.json", folder);
    mgds_stats_calls_init(2, names);
    return mgds_trace_start();
}

static int finish(void **state)
{
    (void)state;
    mgds_trace_close();
    mgds_trace_fini();
    mgds_stats_fini();
    unlink(path);
    return rmdir(folder);
}

static void open_file(void)
{
    char pattern[96];

    snprintf(pattern, sizeof(pattern), "%s/%%r.json", folder);
    assert_int_equal(mgds_trace_open(pattern, 3), 0);
}

/* What is in the file; the caller frees it. */
static char *text_of(void)
{
    FILE *file = fopen(path, "r");
    size_t size = 0;
    char *text = NULL;

    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup(""); /* not yet */
    }
    if (file)
        fclose(file);
    return text;
}

/* Waits for the file to hold that; the test's time limit ends it. */
static void await_text(const char *wanted)
{
    bool found = false;

    while (!found) {
        char *text = text_of();

        found = strstr(text, wanted) != NULL;
        free(text);
        sched_yield();
    }
}

/* Asks Python, whose parser is not ours: all is JSON once the bracket is there,
 * and the expression holds of the list of events. */
static void check_json(const char *bracket, const char *expression)
{
    static const char script[] =
        "import json, sys\n"
        "events = json.loads(open(sys.argv[1]).read() + sys.argv[2])\n"
        "named = lambda n: [e for e in events if e['name'] == n]\n"
        "assert eval(sys.argv[3]), events\n";
    int status;
    pid_t child = fork();

    if (child == 0) {
        execlp("python3", "python3", "-c", script, path, bracket, expression,
               (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void events_are_in_the_file_while_it_is_open(void **state)
{
    (void)state;
    open_file();
    mgds_trace_send_called(0x1f, 0x2f, 1, 42, 4096, 0xabc);
    await_text("\"ph\":\"b\"");
    check_json("]", "named('send')[0]['args'] == {'peer': 1, 'tag': 42,"
                    " 'bytes': 4096, 'comm': '0xabc'}");
    check_json("]", "named('send')[0]['id2'] == {'local': '0x1f'} and"
                    " named('send')[0]['bind_id'] == '0x2f' and"
                    " named('send')[0]['flow_out']");
}

static void closed_file_is_an_array_with_process_and_clocks(void **state)
{
    struct stat found;

    (void)state;
    prctl(PR_SET_NAME, "a \"name\"\n");
    open_file();
    mgds_trace_recv_done(1, 10, 1, -EMSGSIZE);
    mgds_trace_recv_called(2, -2, -1, 10, 1);
    mgds_trace_next_resolved(1);
    assert_int_equal(mgds_trace_close(), 0);
    check_json("", "named('mpix_gds_trace')[0]['args']['rank'] == 3 and"
                   " named('mpix_gds_trace')[0]['args']['monotonic_ns'] > 0");
    check_json("", "'rank 3' in named('process_name')[0]['args']['name']");
    check_json("",
               "named('thread_name')[0]['args']['name'] == 'a \"name\"\\n'");
    check_json("", "named('recv')[0]['args']['error'] == 'EMSGSIZE' and"
                   " named('recv')[0]['args']['transport'] == 'p2p'");
    check_json("", "named('recv')[1]['args']['peer'] == 'any' and"
                   " named('recv')[1]['args']['tag'] == 'any'");
    check_json("", "named('next_resolved')[0]['args']['call'] == "
                   "'MPIX_Recv_enqueue'");
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
}

/* Frames: larger is further out. */
static void calls_nest_whatever_is_missing(void **state)
{
    (void)state;
    open_file();
    mgds_trace_call_leave(0, 0, 90); /* its beginning was lost */
    mgds_trace_call_enter(0, 80);
    mgds_trace_call_enter(1, 70);
    mgds_trace_call_leave(1, 5, 70);
    mgds_trace_call_enter(1, 60); /* left by longjmp */
    mgds_trace_call_enter(0, 80);
    mgds_trace_call_leave(0, 0, 80);
    mgds_trace_call_enter(1, 50); /* open at the end */
    assert_int_equal(mgds_trace_close(), 0);
    check_json("", "[(e['ph'], e['name'][:4]) for e in events"
                   " if e['ph'] in 'BE'] == [('B', 'MPI_'), ('B', 'MPIX'),"
                   " ('E', 'MPIX'), ('B', 'MPIX'), ('E', 'MPIX'),"
                   " ('E', 'MPI_'), ('B', 'MPI_'), ('E', 'MPI_'),"
                   " ('B', 'MPIX'), ('E', 'MPIX')]");
    check_json("", "[e['args'].get('result') for e in events"
                   " if e['ph'] == 'E'] == [5, None, None, 0, None]");
}

static void file_that_was_closed_goes_on(void **state)
{
    (void)state;
    open_file();
    mgds_trace_abi_checked(1);
    assert_int_equal(mgds_trace_close(), 0);
    mgds_trace_abi_checked(2);
    open_file();
    mgds_trace_abi_checked(3);
    assert_int_equal(mgds_trace_close(), 0);
    check_json("", "[e['args']['kind'] for e in named('abi_checked')] =="
                   " [1, 2, 3] and len(named('process_name')) == 1");
}

static void events_that_did_not_fit_are_told(void **state)
{
    (void)state;
    for (int i = 0; i < MGDS_TRACE_RING + 9; i++) /* nobody reads yet */
        mgds_trace_cuda_seen();
    open_file();
    assert_int_equal(mgds_trace_close(), 0);
    check_json("", "sum(e['args']['count'] for e in named('events lost')) == 10"
                   " and len(named('cuda_seen')) == 4095");
}

enum { MANY = 10000 };

static void trace_and_stay(void)
{
    open_file();
    for (int64_t i = 0; i < MANY; i++) {
        mgds_trace_call_enter(0, 1);
        mgds_trace_send_called(i, i, 1, 2, 3, 4);
        mgds_trace_call_leave(0, 0, 1);
    }
    for (;;)
        pause();
}

/* Killed in the middle of a write it may end inside of an event. */
static void file_of_a_killed_process_has_whole_lines_but_the_last(void **state)
{
    pid_t child = fork();
    char *text, *end;
    FILE *file;

    (void)state;
    if (child == 0)
        trace_and_stay();
    await_text("flow_out");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    text = text_of();
    end = strrchr(text, '\n');
    assert_non_null(end);
    file = fopen(path, "w");
    fwrite(text, 1, (size_t)(end - text) - 1, file); /* without its comma */
    fclose(file);
    free(text);
    check_json("]", "len(named('send')) > 1 and named('MPI_Send')");
}

/* In the child nobody empties the rings. */
static void forked_child_neither_writes_nor_hangs(void **state)
{
    int status;
    pid_t child;

    (void)state;
    open_file();
    mgds_trace_abi_checked(1);
    await_text("abi_checked");
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 2 * MGDS_TRACE_RING; i++)
            mgds_trace_libraries_changed(i);
        _exit(mgds_trace_close());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    mgds_trace_abi_checked(2);
    assert_int_equal(mgds_trace_close(), 0);
    check_json("", "[e['args']['kind'] for e in named('abi_checked')] =="
                   " [1, 2] and not named('libraries_changed')");
}

static void file_that_cannot_be_written_gets_one_line(void **state)
{
    char *text;

    (void)state;
    mgds_capture_start(MGDS_LOG_ERROR);
    assert_int_equal(mgds_trace_open("/nonexistent/x", 0), -ENOENT);
    assert_int_equal(mgds_trace_open("%q", 0), -EINVAL);
    assert_false(mgds_trace_on);
    assert_int_equal(mgds_trace_start(), 0);
    assert_int_equal(mgds_trace_open("/dev/full", 0), 0);
    assert_int_equal(mgds_trace_close(), -ENOSPC);
    text = mgds_capture_stop();
    assert_string_equal(text, "mpix-gds[rank 7]: error: trace file "
                              "'/nonexistent/x': No such file or directory\n"
                              "mpix-gds[rank 7]: error: trace file '%q': "
                              "Invalid argument\n"
                              "mpix-gds[rank 7]: error: trace file "
                              "'/dev/full': No space left on device; events "
                              "from here on are not in it\n");
    free(text);
}

/* Who may write to a folder of many must not have another file written. */
static void file_behind_a_link_is_not_written(void **state)
{
    char *text;

    (void)state;
    assert_int_equal(symlink("file", path), 0);
    mgds_capture_start(MGDS_LOG_ERROR);
    assert_int_equal(mgds_trace_open(path, 0), -ELOOP);
    text = mgds_capture_stop();
    assert_non_null(strstr(text, "no symbolic link is followed here"));
    free(text);
}

static void json_strings_are_escaped(void **state)
{
    static const char *const rows[][2] = {
        {"plain", "\"plain\""},
        {"\"\\\n\x01\x7f", "\"\\\"\\\\\\u000a\\u0001\\u007f\""},
        {"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff\xc3", "\"\\ufffd\\ufffd\""},
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},            /* overlong */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
        {"\xe2\x82x", "\"\\ufffd\\ufffdx\""},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buffer[96];
        struct mgds_text text;

        mgds_text_init(&text, buffer, sizeof(buffer));
        mgds_json_string(&text, rows[i][0]);
        assert_string_equal(buffer, rows[i][1]);
    }
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(events_are_in_the_file_while_it_is_open),
        FILE_TEST(closed_file_is_an_array_with_process_and_clocks),
        FILE_TEST(calls_nest_whatever_is_missing),
        FILE_TEST(file_that_was_closed_goes_on),
        FILE_TEST(events_that_did_not_fit_are_told),
        FILE_TEST(file_of_a_killed_process_has_whole_lines_but_the_last),
        FILE_TEST(forked_child_neither_writes_nor_hangs),
        FILE_TEST(file_that_cannot_be_written_gets_one_line),
        FILE_TEST(file_behind_a_link_is_not_written),
        cmocka_unit_test(json_strings_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
