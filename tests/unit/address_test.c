/* Addresses of processes on the wire, as they are written and read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/wire/address.h"

enum { WORKER_BYTES = 5 };

static const char worker_bytes[] = "where";

static struct mgds_wire_identity draw(void)
{
    struct mgds_wire_identity who;

    assert_int_equal(mgds_wire_identity_draw(&who), 0);
    who.worker[MGDS_WIRE_WORKER_NET] =
        (struct mgds_wire_where){worker_bytes, WORKER_BYTES};
    return who;
}

/* In memory of just that length. */
static char *write_address(const struct mgds_wire_identity *who, size_t *bytes)
{
    char *address;

    *bytes = mgds_wire_address_bytes(who);
    address = (char *)malloc(*bytes);
    assert_non_null(address);
    mgds_wire_address_write(address, who);
    return address;
}

static void what_is_written_is_read(void **state)
{
    struct mgds_wire_identity who = draw();
    struct mgds_wire_identity read;
    size_t bytes;
    char *address = write_address(&who, &bytes);

    (void)state;
    assert_int_equal(mgds_wire_address_read(&read, address, bytes), 0);
    assert_int_equal(read.process, who.process);
    assert_memory_equal(&read.key, &who.key, sizeof(who.key));
    assert_int_equal(read.worker[MGDS_WIRE_WORKER_NET].bytes, WORKER_BYTES);
    assert_memory_equal(read.worker[MGDS_WIRE_WORKER_NET].address, worker_bytes,
                        WORKER_BYTES);
    free(address);
}

static void no_two_are_alike(void **state)
{
    struct mgds_wire_identity first = draw();
    struct mgds_wire_identity second = draw();

    (void)state;
    assert_true(first.process != 0 && first.process != second.process);
    assert_memory_not_equal(&first.key, &second.key, sizeof(first.key));
}

static void what_is_cut_is_refused(void **state)
{
    struct mgds_wire_identity who = draw();
    struct mgds_wire_identity read;
    size_t bytes;
    char *address = write_address(&who, &bytes);

    (void)state;
    for (size_t cut = 0; cut < bytes; cut++) {
        char *part = (char *)malloc(cut ? cut : 1);

        assert_non_null(part);
        memcpy(part, address, cut);
        assert_int_equal(mgds_wire_address_read(&read, part, cut), -EINVAL);
        free(part);
    }
    assert_int_equal(mgds_wire_address_read(&read, NULL, 0), -EINVAL);
    free(address);
}

static void what_is_not_ours_is_refused(void **state)
{
    struct mgds_wire_identity who = draw();
    struct mgds_wire_identity read;
    size_t bytes;
    char *address;

    (void)state;
    address = write_address(&who, &bytes);
    address[0] ^= 1;
    assert_int_equal(mgds_wire_address_read(&read, address, bytes), -EINVAL);
    address[0] ^= 1;
    address[4] ^= 1; /* the version */
    assert_int_equal(mgds_wire_address_read(&read, address, bytes), -EPROTO);
    free(address);
    who.process = 0;
    address = write_address(&who, &bytes);
    assert_int_equal(mgds_wire_address_read(&read, address, bytes), -EINVAL);
    free(address);
    who = draw();
    who.worker[MGDS_WIRE_WORKER_NET].bytes = 0;
    address = write_address(&who, &bytes);
    assert_int_equal(mgds_wire_address_read(&read, address, bytes), -EINVAL);
    free(address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(no_two_are_alike),
        cmocka_unit_test(what_is_cut_is_refused),
        cmocka_unit_test(what_is_not_ours_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
