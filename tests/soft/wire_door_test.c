/* Tests of what is said when UCX cannot be used; a library of its name stands
 * in LD_LIBRARY_PATH. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/wire/wire.h"
#include "tests/lib/capture.h"

static void a_foreign_library_gets_one_line(void **state)
{
    const struct mgds_config config = {.wire_nap = 30, .wire_close = 100};
    const void *address;
    size_t bytes;
    char *text;
    int rc = mgds_wire_open(&config); /* memory needs no UCX */

    (void)state;
    mgds_capture_start(MGDS_LOG_WARN);
    assert_int_equal(rc, 0);
    assert_int_equal(mgds_wire_open_network(), -ENOTSUP);
    assert_int_equal(mgds_wire_open_network(), -ENOTSUP);
    assert_int_equal(mgds_wire_address(&address, &bytes), 0);
    mgds_wire_close();
    assert_int_equal(mgds_wire_address(&address, &bytes), -ENOTCONN);
    assert_int_equal(mgds_wire_open_network(), -ENOTCONN);
    mgds_wire_close(); /* nothing is open: nothing happens */
    text = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(text), 1);
    assert_non_null(strstr(text, "libucp.so.0 has no ucp_get_version"));
    assert_non_null(strstr(text, "libucx0"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foreign_library_gets_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
