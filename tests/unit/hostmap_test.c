/* What is mapped for a GPU, and exported from it: in which pages, and what
 * becomes of refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/gds/cuda/dmabuf.h"
#include "shim/gds/cuda/hostmap.h"
#include "tests/unit/fake_cuda.h"

enum { PAGE = 4096 };

static struct fake_cuda *fake;
static struct mgds_context *ctx;
static _Alignas(PAGE) char memory[3 * PAGE];

static int load(void **state)
{
    (void)state;
    fake = fake_cuda_load();
    return 0;
}

static int set_up(void **state)
{
    static int primary;

    (void)state;
    fake_cuda_reset(fake);
    fake->primary = (CUcontext)(void *)&primary;
    fake->contexts[0] = (struct fake_context){.handle = fake->primary, .id = 7};
    return mgds_context_of_device(&ctx, 0);
}

static int tear_down(void **state)
{
    (void)state;
    mgds_context_put(ctx);
    mgds_context_fini();
    return 0;
}

static void whole_pages_are_mapped(void **state)
{
    struct mgds_hostmap map;

    (void)state;
    assert_int_equal(mgds_hostmap_init(&map, ctx, memory + PAGE - 4, 8, false),
                     0);
    assert_ptr_equal(fake->page, memory);
    assert_int_equal(fake->page_bytes, 2 * PAGE);
    assert_int_equal(map.at, (uintptr_t)memory + PAGE - 4 + FAKE_FAR);
    assert_false(map.foreign);
    mgds_hostmap_fini(&map, ctx);
    assert_int_equal(fake->hosts_freed, 1);
}

/* I/O memory, or else as any other; of two refusals the first one counts. */
static void registers_are_tried_in_two_ways(void **state)
{
    struct mgds_hostmap map;

    (void)state;
    assert_int_equal(mgds_hostmap_init(&map, ctx, memory, 8, true), 0);
    mgds_hostmap_fini(&map, ctx);
    fake->io_result = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(mgds_hostmap_init(&map, ctx, memory, 8, true), 0);
    mgds_hostmap_fini(&map, ctx);
    assert_int_equal(fake->hosts_freed, 2);
    fake->io_result = CUDA_ERROR_NOT_PERMITTED;
    fake->alloc_result = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(mgds_hostmap_init(&map, ctx, memory, 8, true), -EPERM);
}

static void somebody_elses_mapping_stays(void **state)
{
    struct mgds_hostmap map;

    (void)state;
    fake->io_result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    fake->alloc_result = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(mgds_hostmap_init(&map, ctx, memory, 8, true), 0);
    assert_true(map.foreign);
    mgds_hostmap_fini(&map, ctx);
    assert_int_equal(fake->hosts_freed, 0);
}

static void memory_without_an_address_is_let_go(void **state)
{
    struct mgds_hostmap map;

    (void)state;
    fake->far_result = CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(mgds_hostmap_init(&map, ctx, memory, 8, false), -ENOTSUP);
    assert_int_equal(fake->hosts_freed, 1);
}

static void exports_are_whole_pages(void **state)
{
    int fd = -1;

    (void)state;
    assert_int_equal(mgds_dmabuf_export(&fd, ctx, memory, PAGE + 100), 0);
    assert_int_equal(fd, 77);
    assert_ptr_equal(fake->page, memory);
    assert_int_equal(fake->page_bytes, 2 * PAGE);
    fake->export_result = CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(mgds_dmabuf_export(&fd, ctx, memory, PAGE), -ENOTSUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_pages_are_mapped, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(registers_are_tried_in_two_ways, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(somebody_elses_mapping_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_without_an_address_is_let_go,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(exports_are_whole_pages, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
