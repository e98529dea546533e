/* Tests of what the software GPU costs when nothing happens. */
#include "tests/sim/gpu.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/threads.h"

static uint64_t cpu_ns(void)
{
    struct rusage use;

    CLAIM(getrusage(RUSAGE_SELF, &use) == 0);
    return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) *
               UINT64_C(1000000000) +
           (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) *
               UINT64_C(1000);
}

static void work(void)
{
    CUstream streams[4];
    CUdeviceptr at;

    OK(cuMemAlloc_v2(&at, 16384));
    for (int i = 0; i < 4; i++) {
        OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        OK(cuMemsetD8Async(at + 4096 * (CUdeviceptr)i, 1, 4096, streams[i]));
    }
    OK(cuCtxSynchronize());
}

static void *say_who(void *arg)
{
    *(long *)arg = syscall(SYS_gettid);
    return NULL;
}

/* A sanitizer has a thread of its own, from the program's first one on. The
 * kernel counts a thread for a moment after it was joined. */
static unsigned settled_threads(void)
{
    pthread_t thread;
    char task[64];
    long id = 0;

    CLAIM(pthread_create(&thread, NULL, say_who, &id) == 0);
    CLAIM(pthread_join(thread, NULL) == 0);
    snprintf(task, sizeof(task), "/proc/self/task/%ld", id);
    while (access(task, F_OK) == 0)
        mgds_gpu_nap(100000);
    return mgds_test_threads();
}

GPU_TEST(threads_end_when_streams_are_idle)
{
    unsigned before = settled_threads();
    uint64_t end;

    (void)arg;
    gpu_start();
    CLAIM(mgds_test_threads() == before); /* a context needs none */
    work();
    CLAIM(mgds_test_threads() > before);
    end = mgds_gpu_now() + 20000000000u;
    while (mgds_test_threads() > before && mgds_gpu_now() < end)
        mgds_gpu_nap(10000000);
    CLAIM(mgds_test_threads() == before);
}

GPU_TEST(idle_process_costs_no_cpu)
{
    uint64_t before;

    (void)arg;
    gpu_start();
    work();
    before = cpu_ns();
    mgds_gpu_nap(500000000);
    CLAIM(cpu_ns() - before < 25000000);
}

/* A wait polls, but mostly sleeps: well under a quarter of one core. */
GPU_TEST(standing_wait_costs_little_cpu)
{
    uint32_t *word;
    CUstream stream;
    uint64_t before;

    (void)arg;
    gpu_start();
    OK(cuMemHostAlloc((void **)&word, 4, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue32_v2(stream, (uintptr_t)word, 1,
                              CU_STREAM_WAIT_VALUE_EQ));
    mgds_gpu_nap(10000000);
    before = cpu_ns();
    mgds_gpu_nap(500000000);
    CLAIM(cpu_ns() - before < 125000000);
    CLAIM(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_end_when_streams_are_idle),
        cmocka_unit_test(idle_process_costs_no_cpu),
        cmocka_unit_test(standing_wait_costs_little_cpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
