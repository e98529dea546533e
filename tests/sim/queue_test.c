/* Tests of sim/cuda/queue.c: hardware queues that waits hold. */
#include "tests/sim/gpu.h"

/* How long a stream is given: one that is to run, however busy the machine is,
 * and one that must not. */
enum { PATIENCE_MS = 20000, GLANCE_MS = 100 };

/* `streams` of them stand in a wait; does one more stream run? Then, or when
 * its time is over, all are released. */
static bool another_runs(unsigned streams, const char *queues,
                         const char *limit, unsigned ms)
{
    CUstream stream;
    uint32_t *words;
    uint64_t end;
    bool ran = false;

    setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues, 1);
    setenv("MPIX_SIM_QUEUE_LIMIT", limit, 1);
    gpu_start();
    OK(cuMemHostAlloc((void **)&words, 64, 0));
    for (unsigned i = 0; i < streams; i++) {
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuStreamWriteValue32_v2(stream, (uintptr_t)&words[i + 2], 1, 0));
        OK(cuStreamWaitValue32_v2(stream, (uintptr_t)&words[0], 1,
                                  CU_STREAM_WAIT_VALUE_EQ));
        while (!__atomic_load_n(&words[i + 2], __ATOMIC_ACQUIRE))
            mgds_gpu_nap(100000);
    }
    mgds_gpu_nap(20000000); /* the last one gets to its wait */
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -5));
    OK(cuStreamWriteValue32_v2(stream, (uintptr_t)&words[1], 1, 0));
    end = mgds_gpu_now() + ms * UINT64_C(1000000);
    while (!ran && mgds_gpu_now() < end) {
        ran = __atomic_load_n(&words[1], __ATOMIC_ACQUIRE);
        mgds_gpu_nap(1000000);
    }
    __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
    OK(cuCtxSynchronize());
    CLAIM(__atomic_load_n(&words[1], __ATOMIC_ACQUIRE));
    return ran;
}

GPU_TEST(waits_in_all_queues_stop_every_other_stream)
{
    (void)arg;
    CLAIM(!another_runs(3, "3", "yes", GLANCE_MS));
}

GPU_TEST(one_free_queue_serves_the_others)
{
    (void)arg;
    CLAIM(another_runs(3, "4", "yes", PATIENCE_MS));
}

GPU_TEST(model_of_queues_can_be_switched_off)
{
    (void)arg;
    CLAIM(another_runs(3, "3", "no", PATIENCE_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_in_all_queues_stop_every_other_stream),
        cmocka_unit_test(one_free_queue_serves_the_others),
        cmocka_unit_test(model_of_queues_can_be_switched_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
