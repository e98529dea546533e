/* Tests of shim/base/nvtx.c with a stand-in for the profiler. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <cmocka.h>

#include "shim/base/nvtx.h"
#include "tests/unit/nvtx_listener.h"

static void *loaded_listener(void)
{
    return dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY | RTLD_NOLOAD);
}

static void ranges_are_nothing_before_and_real_after_enabling(void **state)
{
    (void)state;
    bool early = mgds_nvtx_push("MPI_Init");
    mgds_nvtx_pop(early);
    assert_false(early);
    assert_null(loaded_listener());

    mgds_nvtx_enable();
    mgds_nvtx_pop(early); /* opened before: not closed now */
    assert_null(loaded_listener());

    bool outer = mgds_nvtx_push("MPI_Send");
    void *listener = loaded_listener();
    assert_non_null(listener);
    const struct nvtx_heard *heard =
        (const struct nvtx_heard *)dlsym(listener, "nvtx_heard");
    assert_non_null(heard);
    assert_int_equal(heard->pushes, 1);
    assert_string_equal(heard->last, "MPI_Send");
    bool inner = mgds_nvtx_push("MPI_Wait");
    assert_string_equal(heard->last, "MPI_Wait");
    mgds_nvtx_pop(inner);
    assert_int_equal(heard->pops, 1);
    mgds_nvtx_pop(outer);
    assert_int_equal(heard->pushes, 2);
    assert_int_equal(heard->pops, 2);
    dlclose(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_nothing_before_and_real_after_enabling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
