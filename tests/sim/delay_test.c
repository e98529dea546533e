/* Tests of the random delays: what a seed repeats. */
#include "tests/sim/gpu.h"

#define DRAWS 64

/* The naps of a sequence show only in time: compare the states instead. */
static void draw(uint64_t what, uint64_t *out)
{
    uint64_t random = mgds_gpu_random(what);

    for (int i = 0; i < DRAWS; i++) {
        mgds_gpu_delay(&random);
        out[i] = random;
    }
}

static void set(uint64_t seed, uint64_t rank)
{
    mgds_gpu.cfg.delay = 1;
    mgds_gpu.cfg.seed = seed;
    mgds_gpu.cfg.rank = rank;
}

static void seed_repeats(void **state)
{
    uint64_t a[DRAWS], b[DRAWS];

    (void)state;
    set(7, 1);
    draw(3, a);
    draw(3, b);
    assert_memory_equal(a, b, sizeof(a));
}

static void seed_rank_and_stream_each_make_a_difference(void **state)
{
    uint64_t a[DRAWS], b[DRAWS];

    (void)state;
    set(7, 1);
    draw(3, a);
    draw(4, b);
    assert_memory_not_equal(a, b, sizeof(a));
    set(8, 1);
    draw(3, b);
    assert_memory_not_equal(a, b, sizeof(a));
    set(7, 2);
    draw(3, b);
    assert_memory_not_equal(a, b, sizeof(a));
}

static void without_delay_nothing_is_drawn(void **state)
{
    uint64_t random = 5;

    (void)state;
    mgds_gpu.cfg.delay = 0;
    mgds_gpu_delay(&random);
    assert_int_equal(random, 5);
}

/* The speed that is asked for is kept, from below only. */
GPU_TEST(bandwidth_bounds_a_copy)
{
    CUdeviceptr at;
    uint64_t start;

    (void)arg;
    setenv("MPIX_SIM_LINK_BANDWIDTH", "100", 1);
    gpu_start();
    OK(cuMemAlloc_v2(&at, 1 << 20));
    start = mgds_gpu_now();
    for (int i = 0; i < 4; i++)
        OK(cuMemcpyDtoH_v2(mgds_gpu_calloc(1, 1 << 20), at, 1 << 20));
    CLAIM(mgds_gpu_now() - start >= 40000000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_repeats),
        cmocka_unit_test(seed_rank_and_stream_each_make_a_difference),
        cmocka_unit_test(without_delay_nothing_is_drawn),
        cmocka_unit_test(bandwidth_bounds_a_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
