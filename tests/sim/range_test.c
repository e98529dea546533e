/* Tests of sim/cuda/range.c: which range owns an address. */
#include "tests/sim/gpu.h"

#include "sim/cuda/range.h"

static void address_is_found_in_its_range_only(void **state)
{
    struct mgds_range_map map = {0};

    (void)state;
    mgds_range_add(&map, 0x3000, 0x1000, "c");
    mgds_range_add(&map, 0x1000, 0x800, "a");
    mgds_range_add(&map, 0x2000, 0x1000, "b");
    assert_null(mgds_range_find(&map, 0xfff));
    assert_string_equal(mgds_range_find(&map, 0x1000)->value, "a");
    assert_string_equal(mgds_range_find(&map, 0x17ff)->value, "a");
    assert_null(mgds_range_find(&map, 0x1800));
    assert_string_equal(mgds_range_find(&map, 0x2fff)->value, "b");
    assert_string_equal(mgds_range_find(&map, 0x3000)->value, "c");
    assert_null(mgds_range_find(&map, 0x4000));
    mgds_range_remove(&map, 0x2000);
    assert_null(mgds_range_find(&map, 0x2000));
    assert_int_equal(map.count, 2);
    free(map.rows);
}

static void overlap_is_one_shared_byte(void **state)
{
    struct mgds_range_map map = {0};

    (void)state;
    mgds_range_add(&map, 0x1000, 0x1000, NULL);
    assert_false(mgds_range_overlaps(&map, 0, 0x1000));
    assert_true(mgds_range_overlaps(&map, 0, 0x1001));
    assert_true(mgds_range_overlaps(&map, 0x1fff, 1));
    assert_false(mgds_range_overlaps(&map, 0x2000, 0x1000));
    assert_true(mgds_range_overlaps(&map, 0x1400, 0x10));
    assert_true(mgds_range_overlaps(&map, 0x800, 0x4000));
    free(map.rows);
}

/* Against a plain list, with a thousand random changes. */
static void map_agrees_with_a_list(void **state)
{
    enum { SLOTS = 64 };
    struct mgds_range_map map = {0};
    int there[SLOTS] = {0};

    (void)state;
    for (int round = 0; round < 1000; round++) {
        unsigned slot = (unsigned)(mgds_gpu_random((uint64_t)round) % SLOTS);

        if (there[slot])
            mgds_range_remove(&map, (uintptr_t)slot * 256);
        else
            mgds_range_add(&map, (uintptr_t)slot * 256, 200, &there[slot]);
        there[slot] = !there[slot];
        for (unsigned i = 0; i < SLOTS; i++) {
            struct mgds_range *row =
                mgds_range_find(&map, (uintptr_t)i * 256 + 199);

            assert_int_equal(row != NULL, there[i]);
            assert_null(mgds_range_find(&map, (uintptr_t)i * 256 + 200));
            assert_true(!row || row->value == &there[i]);
        }
    }
    free(map.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_is_found_in_its_range_only),
        cmocka_unit_test(overlap_is_one_shared_byte),
        cmocka_unit_test(map_agrees_with_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
