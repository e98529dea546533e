/* Tests of shim/base/file.c: what others may have put where a file goes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/file.h"

enum { ANOTHER = 12345 }; /* a user */

static char folder[] = "/tmp/mgds-file-XXXXXX";
static char file[64], other[64];

static int make_folder(void **state)
{
    (void)state;
    umask(0);
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    return 0;
}

static int wipe(void **state)
{
    (void)state;
    unlink(file);
    unlink(other);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void assert_holds(const char *path, const char *text)
{
    char got[64] = "";
    FILE *in = fopen(path, "r");

    assert_non_null(in);
    assert_true(fread(got, 1, sizeof(got) - 1, in) <= sizeof(got));
    fclose(in);
    assert_string_equal(got, text);
}

static mode_t mode_of(const char *path)
{
    struct stat found;

    assert_int_equal(stat(path, &found), 0);
    return found.st_mode & 07777;
}

static void write_to(bool append, const char *text)
{
    int fd = mgds_file_open(file, append);

    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
    assert_int_equal(mode_of(file), 0600);
}

static void files_are_for_their_owner(void **state)
{
    (void)state;
    write_to(false, "one");
    assert_holds(file, "one");
    assert_int_equal(chmod(file, 0666), 0);
    write_to(false, "2");
    assert_holds(file, "2");
    write_to(true, "3");
    assert_holds(file, "23");
}

static void assert_refused(int rc)
{
    for (int append = 0; append < 2; append++)
        assert_int_equal(mgds_file_open(file, append), rc);
    assert_true(mgds_file_advice(rc)[0] != 0);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    put(other, "dear");
    assert_int_equal(symlink(other, file), 0);
    assert_refused(-ELOOP);
    assert_holds(other, "dear");
    assert_int_equal(unlink(other), 0); /* nor does one make a file */
    assert_refused(-ELOOP);
    assert_int_equal(access(other, F_OK), -1);
}

static void second_names_are_refused(void **state)
{
    (void)state;
    put(other, "dear");
    assert_int_equal(link(other, file), 0);
    assert_refused(-EPERM);
    assert_holds(other, "dear");
    assert_int_equal(mode_of(other), 0666);
}

static void files_of_others_are_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    put(file, "dear");
    assert_int_equal(chown(file, ANOTHER, ANOTHER), 0);
    assert_refused(-EPERM);
    assert_holds(file, "dear");
}

static void pipes_are_refused_at_once(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(mkfifo(file, 0666), 0);
    assert_refused(-EPERM);
    fd = open(file, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_refused(-EPERM);
    assert_int_equal(close(fd), 0);
}

static void devices_are_files(void **state)
{
    int fd = mgds_file_open("/dev/null", false);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(mgds_file_open(folder, false), -EISDIR);
    assert_string_equal(mgds_file_advice(-EISDIR), "");
}

static void what_is_open_may_be_named(void **state)
{
    char path[64];
    int out, fd;

    (void)state;
    out = mgds_file_open(file, false);
    assert_true(out >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
    fd = mgds_file_open(path, true);
    assert_true(fd > STDERR_FILENO && fd != out);
    assert_int_equal(write(fd, "one", 3), 3);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(out), 0);
    assert_holds(file, "one");
    assert_int_equal(mgds_file_open(path, true), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(files_are_for_their_owner, wipe),
        cmocka_unit_test_teardown(links_are_not_followed, wipe),
        cmocka_unit_test_teardown(second_names_are_refused, wipe),
        cmocka_unit_test_teardown(files_of_others_are_refused, wipe),
        cmocka_unit_test_teardown(pipes_are_refused_at_once, wipe),
        cmocka_unit_test_teardown(what_is_open_may_be_named, wipe),
        cmocka_unit_test(devices_are_files),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
