/* If each case that is new is marked, no combination that a case has is left
 * out: against all cases, of which some do not exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/mpi/gpu_coll.h"

static const int most[COVER_FACTORS] = {5, 3, 2, 2, 3, 1, 4};
enum { CASES_MAX = 5 * 3 * 2 * 2 * 3 * 4, CHOSEN_MAX = CASES_MAX };

static int chosen[CHOSEN_MAX][COVER_FACTORS];
static int chosen_count;

/* The next case, false after the last. */
static bool next_case(int *values)
{
    for (int i = 0; i < COVER_FACTORS; i++) {
        if (++values[i] < most[i])
            return true;
        values[i] = 0;
    }
    return false;
}

static bool exists(const int *values)
{
    return values[0] != 4 || values[2] == 1;
}

static bool agree(const int *a, const int *b, unsigned set)
{
    for (int i = 0; i < COVER_FACTORS; i++)
        if ((set >> i & 1) && a[i] != b[i])
            return false;
    return true;
}

static void expect_covered(const int *values, unsigned set)
{
    for (int i = 0; i < chosen_count; i++)
        if (agree(chosen[i], values, set))
            return;
    fail_msg("a combination of set %x is in no case", set);
}

static void choose(int strength)
{
    int values[COVER_FACTORS] = {0};

    chosen_count = 0;
    do {
        if (!exists(values) || !cover_is_new(values, strength))
            continue;
        cover_mark(values, strength);
        for (int i = 0; i < COVER_FACTORS; i++)
            chosen[chosen_count][i] = values[i];
        chosen_count++;
    } while (next_case(values));
}

static void expect_all(int strength)
{
    int values[COVER_FACTORS] = {0};

    do {
        for (unsigned set = 1; exists(values) && set >> COVER_FACTORS == 0;
             set++)
            if (__builtin_popcount(set) == strength)
                expect_covered(values, set);
    } while (next_case(values));
}

static void every_pair_is_covered(void **state)
{
    (void)state;
    choose(2);
    expect_all(2);
    assert_in_range(chosen_count, 5 * 4, CASES_MAX / 6);
}

static void every_triple_is_covered(void **state)
{
    (void)state;
    choose(3);
    expect_all(3);
    assert_in_range(chosen_count, 5 * 4 * 3, CASES_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_covered),
        cmocka_unit_test(every_triple_is_covered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
