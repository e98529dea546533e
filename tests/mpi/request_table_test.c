/* The table of requests by handle: all are found however many there are, and
 * what a search costs does not depend on that: counted, so that it is the same
 * on every machine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/pmpi/request_table.h"

/* Others that a search passes by, of all of them, for each. */
enum { MANY = 65536, MOST = 3 };

static const struct mgds_request_ops ops = {.kind =
                                                MGDS_REQUEST_IS_GENERALIZED};
static struct mgds_request requests[MANY];

/* As MPICH gives them out: in rows, of blocks that lie apart. */
static MPI_Request handle_of(unsigned i)
{
    return (MPI_Request)(0xac000000u + (i / 1024) * 0x10000u + i % 1024);
}

static void put_all(void)
{
    for (unsigned i = 0; i < MANY; i++) {
        requests[i] =
            (struct mgds_request){.ops = &ops, .handle = handle_of(i)};
        assert_null(mgds_requests_insert(&requests[i]));
    }
}

static void all_are_found_at_once(void **state)
{
    uint64_t before;

    (void)state;
    put_all();
    before = mgds_requests_passed();
    for (unsigned i = 0; i < MANY; i++)
        assert_ptr_equal(mgds_requests_find(handle_of(i)), &requests[i]);
    assert_null(mgds_requests_find(handle_of(MANY)));
    assert_true(mgds_requests_passed() - before <= (uint64_t)MOST * MANY);
    for (unsigned i = 0; i < MANY; i += 2)
        mgds_requests_remove(&requests[i]);
    for (unsigned i = 0; i < MANY; i++)
        assert_ptr_equal(mgds_requests_find(handle_of(i)),
                         i % 2 ? &requests[i] : NULL);
    for (unsigned i = 1; i < MANY; i += 2)
        mgds_requests_remove(&requests[i]);
    assert_null(mgds_requests_take_any());
}

/* Those that are put in while the table grows pass by no more either. */
static void none_is_slow_to_put(void **state)
{
    uint64_t before = mgds_requests_passed();
    unsigned taken = 0;

    (void)state;
    put_all();
    assert_true(mgds_requests_passed() - before <= (uint64_t)2 * MOST * MANY);
    while (mgds_requests_take_any())
        taken++;
    assert_int_equal(taken, MANY);
    assert_null(mgds_requests_find(handle_of(1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_found_at_once),
        cmocka_unit_test(none_is_slow_to_put),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
