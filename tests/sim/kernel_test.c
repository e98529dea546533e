/* Tests of kernels on the software GPU: the library's own with any shape, and a
 * program's that need their blocks and threads at the same time. */
#include "tests/sim/gpu.h"

#include "device/abi.h"
#include "device/kernels.h"
#include "tests/sim/kernels.h"

#define PTX ".version 8.0\n.target sm_90\n"

static CUfunction function(const char *name)
{
    CUmodule module;
    CUfunction found;

    OK(cuModuleLoadData(&module, PTX ".visible .entry meet() { ret; }\n"
                                     ".visible .entry pass() { ret; }\n"
                                     ".visible .entry mgds_copy_kernel();\n"
                                     ".visible .entry mgds_flag_kernel();\n"));
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

static void launch(CUfunction f, unsigned grid, unsigned block, void *args)
{
    void *params[] = {args};

    OK(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL));
}

static CUdeviceptr zeroed(size_t size)
{
    CUdeviceptr at;

    OK(cuMemAlloc_v2(&at, size));
    OK(cuMemsetD8_v2(at, 0, size));
    OK(cuCtxSynchronize());
    return at;
}

static void start(const char *block_threads)
{
    setenv("MPIX_SIM_BLOCK_THREADS", block_threads, 1);
    setenv("MPIX_SIM_KERNELS", MGDS_TEST_KERNELS, 1);
    gpu_start();
}

GPU_TEST(blocks_that_wait_for_each_other_all_run)
{
    struct meet_args args = {.rounds = 3};

    (void)arg;
    start("1");
    args.arrived = zeroed(8);
    launch(function("meet"), 40, 32, &args);
    OK(cuCtxSynchronize());
}

GPU_TEST(threads_of_a_block_meet)
{
    struct pass_args args;
    uint64_t result[2];

    (void)arg;
    start("4");
    args.words = zeroed(8192);
    args.failed = zeroed(16);
    args.threads = args.failed + 8;
    launch(function("pass"), 16, 128, &args);
    OK(cuMemcpyDtoH_v2(result, args.failed, 16));
    CLAIM(result[0] == 0 && result[1] == 4);
}

/* One block of many goes wrong: the launch ends with the error, even for
 * those that wait for each other. */
GPU_TEST(fault_in_a_kernel_loses_the_process)
{
    struct meet_args bad = {16, 1};
    CUdeviceptr at;

    (void)arg;
    start("2");
    launch(function("meet"), 8, 32, &bad);
    EXPECT_RC(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    EXPECT_RC(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&at, 8));
}

/* A kernel that would wait for ever ends when the process is lost. Loading one
 * waits for the device: before the wait stands. */
GPU_TEST(waiting_kernel_ends_with_the_process)
{
    struct mgds_flag_args wait = {0};
    struct meet_args bad = {16, 1};
    CUstream stream;
    void *params[] = {&wait};
    CUfunction flag, meet;

    (void)arg;
    start("1");
    flag = function("mgds_flag_kernel");
    meet = function("meet");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    wait.wait = zeroed(8);
    wait.wait_value = 1;
    OK(cuLaunchKernel(flag, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    launch(meet, 1, 1, &bad);
    EXPECT_RC(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}

static void check_copy(CUfunction copy, unsigned grid, unsigned block,
                       const size_t where[3])
{
    static unsigned char from[1200], to[1200];
    CUdeviceptr at = zeroed(4096);
    uint64_t tail[2];
    struct mgds_copy_args args = {
        .src = at + where[0],
        .dst = at + 1280 + where[1],
        .bytes = where[2],
        .flag = at + 4000,
        .ticket = at + 4008,
        .value = 99,
    };

    for (unsigned i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)(i * 7 + 1);
    OK(cuMemcpyHtoD_v2(at, from, sizeof(from)));
    launch(copy, grid, block, &args);
    OK(cuMemcpyDtoH_v2(to, at + 1280, sizeof(to)));
    OK(cuMemcpyDtoH_v2(tail, at + 4000, 16));
    CLAIM(memcmp(to + where[1], from + where[0], where[2]) == 0);
    CLAIM(to[where[1] + where[2]] == 0);
    CLAIM(where[1] == 0 || to[where[1] - 1] == 0);
    CLAIM(tail[0] == 99 && tail[1] == 0);
    OK(cuMemFree_v2(at));
}

GPU_TEST(copy_kernel_takes_any_alignment_and_size)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 100, 1000};
    CUfunction copy;

    (void)arg;
    start("2");
    copy = function("mgds_copy_kernel");
    for (size_t s = 0; s < 17; s += 3) {
        for (size_t d = 0; d < 17; d += 5) {
            for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                size_t where[3] = {s, d, sizes[i]};

                check_copy(copy, 1 + (unsigned)(i % 3), 64, where);
            }
        }
    }
}

/* The flag kernel may be released by its abort word; it writes nothing then. */
GPU_TEST(flag_kernel_can_be_told_to_give_up)
{
    struct mgds_flag_args args = {0};
    uint64_t *abort_word, got = 5;
    CUdeviceptr words;

    (void)arg;
    start("1");
    OK(cuMemHostAlloc((void **)&abort_word, sizeof(struct mgds_desk), 0));
    memset(abort_word, 0, sizeof(struct mgds_desk));
    words = zeroed(16);
    args.wait = words;
    args.wait_value = 1;
    args.write = words + 8;
    args.write_value = 7;
    args.abort = (uintptr_t)abort_word;
    launch(function("mgds_flag_kernel"), 1, 1, &args);
    CLAIM(cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY);
    __atomic_store_n(abort_word, 1, __ATOMIC_RELEASE);
    OK(cuMemcpyDtoH_v2(&got, words + 8, 8));
    CLAIM(got == 0);
}

/* What the library loads: the fat binary, or without nvcc its stand-in. */
/* All of them: what is built into the image is built for the host too. */
GPU_TEST(image_of_the_library_has_its_kernels)
{
    static const char *const names[] = {
        "mgds_await_kernel",      "mgds_copies_kernel",
        "mgds_copy_kernel",       "mgds_exchange_kernel",
        "mgds_few_awaits_kernel", "mgds_few_exchange_kernel",
        "mgds_few_takes_kernel",  "mgds_flag_kernel",
        "mgds_pack_kernel",       "mgds_post_kernel",
        "mgds_pull_kernel",       "mgds_push_kernel",
        "mgds_read_kernel",       "mgds_take_kernel",
        "mgds_takes_kernel",      "mgds_tell_kernel"};
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    CUfunction found;
    CUmodule module;

    (void)arg;
    gpu_start();
    CLAIM(mgds_kernel_image_size > 16);
    CLAIM((uintptr_t)mgds_kernel_image % 16 == 0);
    OK(cuModuleLoadData(&module, mgds_kernel_image));
    for (int i = 0; i < NAMES; i++)
        OK(cuModuleGetFunction(&found, module, names[i]));
    CLAIM(mgds_host_kernels.count == NAMES);
    EXPECT_RC(CUDA_ERROR_NOT_FOUND,
              cuModuleGetFunction(&found, module, "mgds_no_kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_wait_for_each_other_all_run),
        cmocka_unit_test(threads_of_a_block_meet),
        cmocka_unit_test(fault_in_a_kernel_loses_the_process),
        cmocka_unit_test(waiting_kernel_ends_with_the_process),
        cmocka_unit_test(copy_kernel_takes_any_alignment_and_size),
        cmocka_unit_test(flag_kernel_can_be_told_to_give_up),
        cmocka_unit_test(image_of_the_library_has_its_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
