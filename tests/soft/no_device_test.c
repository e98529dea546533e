/* The door on a software GPU without devices: a program that loaded CUDA goes
 * on with host memory, and who needs a GPU is told so in one line. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/ptr.h"
#include "tests/lib/capture.h"
#include "tests/soft/soft_cuda.h"

static void host_memory_is_host_memory(void **state)
{
    void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct mgds_ptr ptr;

    (void)state;
    assert_int_equal(cu.cuInit(0), CUDA_ERROR_NO_DEVICE);
    assert_int_equal(mgds_ptr_find(&ptr, map, 8), 0);
    assert_int_equal(ptr.kind, MGDS_PTR_HOST);
    munmap(map, 4096);
}

static void lack_of_a_device_is_told_once_with_the_remedy(void **state)
{
    char *text;

    (void)state;
    mgds_capture_start(MGDS_LOG_WARN);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mgds_driver_require(), -ENODEV);
    text = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(text), 1);
    assert_non_null(strstr(text, "no GPU"));
    assert_non_null(strstr(text, "CUDA_VISIBLE_DEVICES"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_memory_is_host_memory),
        cmocka_unit_test(lack_of_a_device_is_told_once_with_the_remedy),
    };

    return soft_cuda_load() || cmocka_run_group_tests(tests, NULL, NULL);
}
