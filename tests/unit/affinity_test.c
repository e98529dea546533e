/* Tests of shim/gds/wire/affinity.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/wire/affinity.h"

static cpu_set_t set_of(const char *text)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (text && text[0])
        assert_true(mgds_affinity_parse(&set, text));
    return set;
}

static void lists_are_read(void **state)
{
    static const char *const wrong[] = {
        "", "\n", "a", "1,", "-1", "3-1", "1-", "1,,2", "1x", "1024", "0-1024"};
    cpu_set_t set = set_of("0-2,5,7-7\n");

    (void)state;
    assert_int_equal(CPU_COUNT(&set), 5);
    assert_true(CPU_ISSET(2, &set) && CPU_ISSET(5, &set) && CPU_ISSET(7, &set));
    set = set_of("1023");
    assert_true(CPU_ISSET(1023, &set));
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(mgds_affinity_parse(&set, wrong[i]));
}

static const struct {
    enum mgds_affinity how;
    const char *now, *siblings, *node, *next; /* NULL: stays */
} rows[] = {
    {MGDS_AFFINITY_AUTO, "3", "3", "0-7", "0-7"},
    {MGDS_AFFINITY_AUTO, "3,11", "3,11", "0-15", "0-15"},
    {MGDS_AFFINITY_AUTO, "3", "", "0-7", "0-7"},
    {MGDS_AFFINITY_AUTO, "3", "3", "", "0-1023"},
    {MGDS_AFFINITY_AUTO, "3-4", "3", "0-7", NULL},
    {MGDS_AFFINITY_AUTO, "0-7", "0", "0-7", NULL},
    {MGDS_AFFINITY_INHERIT, "3", "3", "0-7", NULL},
    {MGDS_AFFINITY_ALL, "3-4", "3", "0-7", "0-1023"},
};

static void one_core_is_not_enough(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cpu_set_t now = set_of(rows[i].now), node = set_of(rows[i].node);
        cpu_set_t siblings = set_of(rows[i].siblings), next, want;
        bool moves =
            mgds_affinity_choose(&next, rows[i].how, &now, &siblings, &node);

        assert_int_equal(moves, rows[i].next != NULL);
        if (!moves)
            continue;
        want = set_of(rows[i].next);
        assert_true(CPU_EQUAL(&next, &want));
    }
}

static cpu_set_t mine(void)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    return set;
}

/* The last one: this thread is bound. */
static void a_bound_thread_moves(void **state)
{
    cpu_set_t all = mine(), one, now;
    int cpu = sched_getcpu();

    (void)state;
    if (CPU_COUNT(&all) == 1)
        skip();
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    mgds_affinity_settle(MGDS_AFFINITY_INHERIT);
    now = mine();
    assert_true(CPU_EQUAL(&now, &one));
    mgds_affinity_settle(MGDS_AFFINITY_AUTO);
    now = mine();
    assert_true(CPU_ISSET((size_t)cpu, &now));
    mgds_affinity_settle(MGDS_AFFINITY_ALL);
    now = mine();
    assert_true(CPU_COUNT(&now) >= CPU_COUNT(&all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(one_core_is_not_enough),
        cmocka_unit_test(a_bound_thread_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
