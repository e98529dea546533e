/* Tests of sim/cuda/window.c: device memory is where the simulator says and
 * nowhere else. */
#include "tests/sim/gpu.h"

#include "sim/cuda/window.h"

static void touch(void *arg)
{
    CUdeviceptr at;

    (void)arg;
    gpu_crash_plainly();
    gpu_start();
    OK(cuMemAlloc_v2(&at, 4096));
    *(volatile char *)(uintptr_t)at = 1;
}

static void cpu_dies_of_touching_device_memory(void **state)
{
    static struct mgds_child child;

    (void)state;
    mgds_child_run(&child, touch, NULL);
    assert_true(gpu_crashed(&child));
}

GPU_TEST(kernels_reach_memory_at_the_displacement)
{
    CUdeviceptr at;
    char *alias;
    char got[16];

    (void)arg;
    gpu_start();
    CLAIM(mgds_window.size <= (size_t)1 << 38);
    OK(cuMemAlloc_v2(&at, 4096));
    CLAIM(mgds_window_has((uintptr_t)at));
    alias = mgds_window_at((uintptr_t)at);
    CLAIM((uintptr_t)alias == (uintptr_t)at + mgds_window.displacement);
    memcpy(alias + 100, "seen by both", 13);
    OK(cuMemcpyDtoH_v2(got, at + 100, 13));
    CLAIM(strcmp(got, "seen by both") == 0);
    /* memory of the host means itself */
    CLAIM(mgds_window_at((uintptr_t)got) == got);
}

GPU_TEST(freed_addresses_are_not_given_out_again_soon)
{
    CUdeviceptr first, at;

    (void)arg;
    gpu_start();
    OK(cuMemAlloc_v2(&first, 4096));
    OK(cuMemFree_v2(first));
    for (int i = 0; i < 100; i++) {
        OK(cuMemAlloc_v2(&at, 4096));
        CLAIM(at != first);
        OK(cuMemFree_v2(at));
    }
}

GPU_TEST(addresses_come_around_when_the_window_is_used_up)
{
    size_t size;
    CUdeviceptr at;

    (void)arg;
    gpu_start();
    /* many times the window in reservations, one at a time */
    size = mgds_window.size / 4;
    for (int i = 0; i < 40; i++) {
        OK(cuMemAddressReserve(&at, size, 0, 0, 0));
        OK(cuMemAddressFree(at, size));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_dies_of_touching_device_memory),
        cmocka_unit_test(kernels_reach_memory_at_the_displacement),
        cmocka_unit_test(freed_addresses_are_not_given_out_again_soon),
        cmocka_unit_test(addresses_come_around_when_the_window_is_used_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
