/* Which kept message a receive gets: the first that it accepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/pmpi/kept_list.h"

enum { COMMS = 2, SOURCES = 3, TAGS = 3, MESSAGES = 40 };

static struct mgds_kept messages[MESSAGES];
static struct mgds_kept_list list = TAILQ_HEAD_INITIALIZER(list);

static MPI_Comm comm_of(unsigned i)
{
    return i % COMMS ? MPI_COMM_WORLD : MPI_COMM_SELF;
}

static int fill(void **state)
{
    unsigned random = 7;

    (void)state;
    for (unsigned i = 0; i < MESSAGES; i++) {
        random = random * 1103515245u + 12345u;
        messages[i].comm = comm_of(random >> 16);
        messages[i].status.MPI_SOURCE = (int)((random >> 18) % SOURCES);
        messages[i].status.MPI_TAG = (int)((random >> 22) % TAGS);
        TAILQ_INSERT_TAIL(&list, &messages[i], link);
    }
    return 0;
}

static struct mgds_kept *first(MPI_Comm comm, int source, int tag)
{
    for (unsigned i = 0; i < MESSAGES; i++)
        if (messages[i].comm == comm &&
            (source == MPI_ANY_SOURCE ||
             source == messages[i].status.MPI_SOURCE) &&
            (tag == MPI_ANY_TAG || tag == messages[i].status.MPI_TAG))
            return &messages[i];
    return NULL;
}

static void the_first_that_fits_is_found(void **state)
{
    (void)state;
    for (unsigned comm = 0; comm < COMMS; comm++)
        for (int source = -1; source < SOURCES; source++)
            for (int tag = -1; tag < TAGS; tag++) {
                int from = source < 0 ? MPI_ANY_SOURCE : source;
                int with = tag < 0 ? MPI_ANY_TAG : tag;

                assert_ptr_equal(
                    mgds_kept_find(&list, comm_of(comm), from, with),
                    first(comm_of(comm), from, with));
            }
}

static void none_fits_a_stranger(void **state)
{
    (void)state;
    assert_null(
        mgds_kept_find(&list, MPI_COMM_NULL, MPI_ANY_SOURCE, MPI_ANY_TAG));
    assert_null(mgds_kept_find(&list, MPI_COMM_WORLD, SOURCES, MPI_ANY_TAG));
    assert_null(mgds_kept_find(&list, MPI_COMM_WORLD, MPI_ANY_SOURCE, TAGS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_fits_is_found),
        cmocka_unit_test(none_fits_a_stranger),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
