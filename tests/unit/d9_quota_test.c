/* Lines of the processes of a host, counted together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/quota.h"

/* A quota that no other run of this program uses, whose periods do not end. On
 * a machine that is busy whoever holds the lock may stand for longer than the
 * library waits. */
static struct mgds_quota fresh(void)
{
    return (struct mgds_quota){.key = mgds_clock_ns() << 8 | (uint64_t)getpid(),
                               .period = UINT64_MAX / 2,
                               .patience = UINT64_MAX,
                               .most = 16};
}

static void no_more_than_the_most_is_given(void **state)
{
    struct mgds_quota quota = fresh();

    (void)state;
    assert_int_equal(mgds_quota_take(&quota, 4), 4);
    assert_int_equal(mgds_quota_take(&quota, 10), 10);
    assert_int_equal(mgds_quota_take(&quota, 4), 2);
    assert_int_equal(mgds_quota_take(&quota, 4), 0);
    quota.period = 1;
    assert_int_equal(mgds_quota_take(&quota, 4), 4);
}

static void what_was_left_out_is_told_once(void **state)
{
    struct mgds_quota quota = fresh();

    (void)state;
    assert_int_equal(mgds_quota_ask(&quota), 0);
    mgds_quota_leave(&quota, 3);
    mgds_quota_leave(&quota, 4);
    assert_int_equal(mgds_quota_ask(&quota), 7);
    assert_int_equal(mgds_quota_ask(&quota), 0);
}

/* Few rows are taken: those of programs that run beside this one stay. */
static void the_row_not_used_for_longest_goes(void **state)
{
    struct mgds_quota quota = fresh();
    struct mgds_quota other;

    (void)state;
    mgds_quota_leave(&quota, 3);
    for (int i = 0; i < 3; i++) {
        other = fresh();
        mgds_quota_take(&other, 1);
    }
    assert_int_equal(mgds_quota_ask(&quota), 3);
}

static void processes_count_together(void **state)
{
    struct mgds_quota quota = fresh();
    unsigned sum = 0;
    int status;

    (void)state;
    for (int i = 0; i < 8; i++)
        if (fork() == 0)
            _exit((int)mgds_quota_take(&quota, 4));
    while (wait(&status) > 0)
        sum += (unsigned)WEXITSTATUS(status);
    assert_int_equal(sum, 16);
}

static void the_file_is_the_owners_alone(void **state)
{
    struct mgds_quota quota = fresh();
    struct stat file;
    char path[64];

    (void)state;
    snprintf(path, sizeof(path), "/dev/shm/mpix-gds-lines.%u",
             (unsigned)geteuid());
    mgds_quota_take(&quota, 1);
    assert_int_equal(lstat(path, &file), 0);
    assert_true(S_ISREG(file.st_mode));
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_true(file.st_size <= 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_than_the_most_is_given),
        cmocka_unit_test(what_was_left_out_is_told_once),
        cmocka_unit_test(the_row_not_used_for_longest_goes),
        cmocka_unit_test(processes_count_together),
        cmocka_unit_test(the_file_is_the_owners_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
