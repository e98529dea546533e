/* Tests of shim/gds/cuda/result.c: every driver result becomes an errno. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <cmocka.h>

#include "shim/gds/cuda/result.h"

static const CUresult all[] = {
#define RESULT(name, value, text) name,
#include "shim/gds/cuda/driver_results.def"
#undef RESULT
};

static void every_result_but_success_is_negative(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i] == CUDA_SUCCESS)
            assert_int_equal(mgds_cu(all[i]), 0);
        else
            assert_true(mgds_cu(all[i]) < 0);
    }
}

struct row {
    CUresult result;
    int code;
};

static void results_that_callers_act_on_are_told_apart(void **state)
{
    const struct row rows[] = {
        {CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM},
        {CUDA_ERROR_INVALID_VALUE, -EINVAL},
        {CUDA_ERROR_NOT_READY, -EAGAIN},
        {CUDA_ERROR_NO_DEVICE, -ENODEV},
        {CUDA_ERROR_NOT_INITIALIZED, -ENODEV},
        {CUDA_ERROR_DEINITIALIZED, -ESHUTDOWN},
        {CUDA_ERROR_CONTEXT_IS_DESTROYED, -ESHUTDOWN},
        {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, -ENOTSUP},
        {CUDA_ERROR_ILLEGAL_ADDRESS, -EIO},
        {CUDA_ERROR_LAUNCH_FAILED, -EIO},
        {CUDA_ERROR_ECC_UNCORRECTABLE, -EIO},
        {CUDA_ERROR_UNKNOWN, -EIO},
        {(CUresult)12345, -EIO},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(mgds_cu(rows[i].result), rows[i].code);
}

static void *fail_otherwise(void *arg)
{
    (void)arg;
    mgds_cu(CUDA_ERROR_NOT_FOUND);
    return NULL;
}

static void text_is_of_the_threads_own_last_failure(void **state)
{
    char text[MGDS_CU_TEXT];
    pthread_t thread;

    (void)state;
    mgds_cu(CUDA_ERROR_OUT_OF_MEMORY);
    mgds_cu(CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, fail_otherwise, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(mgds_cu_text(NULL, text),
                        "out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
    mgds_cu((CUresult)12345);
    assert_string_equal(mgds_cu_text(NULL, text),
                        "unknown result (CUresult 12345)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_result_but_success_is_negative),
        cmocka_unit_test(results_that_callers_act_on_are_told_apart),
        cmocka_unit_test(text_is_of_the_threads_own_last_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
