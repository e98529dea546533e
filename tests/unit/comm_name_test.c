/* The name of a communicator: what lines about its operations can print. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "shim/gds/msg/op.h"
#include "tests/unit/envelope_place.h"

static void named(struct env_place *place, const char *name, const char *kept)
{
    mgds_comm_set_name(place->comm, name);
    assert_string_equal(place->comm->name, kept);
}

static void a_name_is_kept_as_one_short_line(void **state)
{
    char most[MGDS_COMM_NAME], more[2 * MGDS_COMM_NAME];
    struct env_place place;

    (void)state;
    memset(more, 'x', sizeof(more));
    more[sizeof(more) - 1] = '\0';
    memcpy(most, more, sizeof(most));
    most[sizeof(most) - 1] = '\0';
    env_open(&place);
    assert_string_equal(place.comm->name, "");
    named(&place, "halo", "halo");
    named(&place, most, most);
    named(&place, more, most);
    named(&place, "two\nlines\t", "two?lines?");
    named(&place, "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
    named(&place, "", "");
    env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_kept_as_one_short_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
