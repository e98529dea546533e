/* What stands, asked for while another thread has the operations. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/gds/comm/dump.h"
#include "shim/gds/msg/op.h"
#include "tests/unit/envelope_place.h"

/* Dumps to fd, in a thread of its own. */
static void *dump(void *fd)
{
    assert_int_equal(mgds_dump(NULL, *(int *)fd), 0);
    return NULL;
}

static void dump_says(const char *what)
{
    int fd = memfd_create("dump", MFD_CLOEXEC);
    char text[256] = "";
    pthread_t thread;

    assert_true(fd >= 0);
    assert_int_equal(pthread_create(&thread, NULL, dump, &fd), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    assert_non_null(strstr(text, what));
    close(fd);
}

static void who_has_the_lock_is_said_to_be_busy(void **state)
{
    struct env_place place;

    (void)state;
    env_open(&place);
    dump_says("nothing stands\n");
    mgds_engine_enter();
    dump_says("busy: another thread");
    mgds_engine_leave();
    dump_says("nothing stands\n");
    env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_the_lock_is_said_to_be_busy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
