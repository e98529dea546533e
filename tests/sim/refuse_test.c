/* Tests of what the software GPU refuses, and what it says then. */
#include "tests/sim/gpu.h"

static struct mgds_child child;

static void lines_are(unsigned lines, const char *text)
{
    assert_int_equal(child.writes, lines);
    if (!strstr(child.errors, text))
        fail_msg("'%s' lacks '%s'", child.errors, text);
}

static void init_without_device(void *arg)
{
    int count;

    (void)arg;
    setenv("MPIX_SIM_GPUS", "0", 1);
    EXPECT_RC(CUDA_ERROR_NO_DEVICE, cuInit(0));
    EXPECT_RC(CUDA_ERROR_NO_DEVICE, cuInit(0));
    EXPECT_RC(CUDA_ERROR_NO_DEVICE, cuDeviceGetCount(&count));
}

static void no_device_is_an_error_of_init(void **state)
{
    (void)state;
    gpu_test(&child, init_without_device, NULL);
}

static void calls_before_init(void *arg)
{
    CUdeviceptr at;
    int count, version = 0;

    (void)arg;
    EXPECT_RC(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    EXPECT_RC(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&at, 8));
    OK(cuDriverGetVersion(&version));
    CLAIM(version == 13000);
}

static void calls_before_init_are_refused(void **state)
{
    (void)state;
    gpu_test(&child, calls_before_init, NULL);
}

static void exhaust(void *arg)
{
    CUdeviceptr at, more;

    (void)arg;
    setenv("MPIX_SIM_MEMORY", "16", 1);
    gpu_start();
    OK(cuMemAlloc_v2(&at, 12 << 20));
    EXPECT_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&more, 8 << 20));
    EXPECT_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&more, 8 << 20));
    OK(cuMemFree_v2(at));
    OK(cuMemAlloc_v2(&more, 8 << 20));
}

static void exhausted_memory_is_named_once(void **state)
{
    (void)state;
    gpu_test(&child, exhaust, NULL);
    lines_are(1, "MPIX_SIM_MEMORY");
}

static void ask_like_the_runtime(void *arg)
{
    CUuuid id = {{0}};
    const void *table;

    (void)arg;
    EXPECT_RC(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));
    EXPECT_RC(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));
}

static void runtime_programs_get_one_line(void **state)
{
    (void)state;
    gpu_test(&child, ask_like_the_runtime, NULL);
    lines_are(1, "CUDA runtime programs do not run on the software GPU");
}

static void unknown_kernel(void *arg)
{
    CUmodule module;
    CUfunction function;

    (void)arg;
    gpu_start();
    EXPECT_RC(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, "garbage"));
    OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"
                                 ".visible .entry of_yours() { ret; }\n"));
    EXPECT_RC(CUDA_ERROR_NOT_FOUND,
              cuModuleGetFunction(&function, module, "not_there"));
    EXPECT_RC(CUDA_ERROR_NOT_FOUND,
              cuModuleGetFunction(&function, module, "of_yours"));
}

static void kernel_without_host_form_is_named(void **state)
{
    (void)state;
    gpu_test(&child, unknown_kernel, NULL);
    lines_are(1, "of_yours");
    lines_are(1, "MPIX_SIM_KERNELS");
}

static void name_no_object(void *arg)
{
    (void)arg;
    setenv("MPIX_SIM_KERNELS", "/nowhere/kernels.so", 1);
    gpu_start();
}

static void missing_kernel_object_is_named(void **state)
{
    (void)state;
    gpu_test(&child, name_no_object, NULL);
    lines_are(1, "/nowhere/kernels.so");
}

static void copy_without_access(void *arg)
{
    CUcontext other;
    CUstream stream;
    CUdeviceptr plain, pool;
    uint64_t host = 0;

    (void)arg;
    setenv("MPIX_SIM_GPUS", "2", 1);
    gpu_start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&plain, sizeof(host)));
    OK(cuMemAllocAsync(&pool, sizeof(host), stream));
    OK(cuStreamSynchronize(stream));
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxSetCurrent(other));
    OK(cuMemcpyHtoDAsync_v2(plain, &host, sizeof(host), stream));
    EXPECT_RC(CUDA_ERROR_INVALID_VALUE,
              cuMemcpyHtoDAsync_v2(pool, &host, sizeof(host), stream));
    EXPECT_RC(CUDA_ERROR_INVALID_VALUE,
              cuMemcpyDtoHAsync_v2(&host, pool, sizeof(host), stream));
}

/* Whatever the stream's is (H100, driver 580). */
static void context_without_access_copies_no_pool(void **state)
{
    (void)state;
    gpu_test(&child, copy_without_access, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_device_is_an_error_of_init),
        cmocka_unit_test(calls_before_init_are_refused),
        cmocka_unit_test(exhausted_memory_is_named_once),
        cmocka_unit_test(runtime_programs_get_one_line),
        cmocka_unit_test(kernel_without_host_form_is_named),
        cmocka_unit_test(missing_kernel_object_is_named),
        cmocka_unit_test(context_without_access_copies_no_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
