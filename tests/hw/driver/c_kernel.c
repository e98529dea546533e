/* Modules and kernel launches (Driver API, "Module Management", "Execution
 * Control"). Loading code waits for the device, so cases that hold a stream
 * warm their kernels up before. */
#include "kernel.h"

#include <stdatomic.h>
#include <string.h>

#include "case.h"
#include "device/kernels.h"

/* The flag kernel, loaded and run once. */
static CUfunction warm_flag(void)
{
    CUfunction flag = mgds_flag_function();
    struct mgds_flag_args args = {.write = mgds_zeroed(8)};

    OK(mgds_kernel_launch(flag, NULL, &args));
    OK(cu.StreamSynchronize(NULL));
    return flag;
}

static void kernel_stores_what_it_is_told(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(24);

    OK(mgds_kernel_store(s, words + 8, 0xabcd00001234));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, mgds_peek64(words));
    EXPECT_EQ(0xabcd00001234, mgds_peek64(words + 8));
    EXPECT_EQ(0, mgds_peek64(words + 16));
}

/* Every block and thread of every grid takes its share of the copy. */
static void kernel_runs_its_whole_grid(void)
{
    enum { BYTES = 100003 };
    static const unsigned grids[][2] = {{1, 1}, {1, 32}, {5, 64}, {16, 1024}};
    static unsigned char host[BYTES], got[BYTES + 1];
    CUfunction copy = mgds_copy_function();
    CUdeviceptr from = mgds_zeroed(BYTES), to = mgds_zeroed(BYTES + 1);
    struct mgds_copy_args args = {.dst = to, .src = from, .bytes = BYTES};
    CUstream s = mgds_free_stream();
    void *params[] = {&args};

    for (unsigned g = 0; g < 4; g++) {
        for (unsigned i = 0; i < BYTES; i++)
            host[i] = (unsigned char)(i * 13 + (i >> 9) + g);
        OK(cu.MemcpyHtoD(from, host, BYTES));
        OK(cu.CtxSynchronize()); /* staged is not yet arrived */
        OK(cu.LaunchKernel(copy, grids[g][0], 1, 1, grids[g][1], 1, 1, 0, s,
                           params, NULL));
        OK(cu.StreamSynchronize(s));
        OK(cu.MemcpyDtoH(got, to, BYTES + 1));
        EXPECT_EQ(0, memcmp(host, got, BYTES));
        EXPECT_EQ(0, got[BYTES]);
    }
}

static void parameters_are_taken_at_the_call(void)
{
    CUfunction flag = warm_flag();
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(8);
    struct mgds_flag_args args = {.write = word, .write_value = 1};

    mgds_hwqueue_hold(gate, s);
    OK(mgds_kernel_launch(flag, s, &args));
    memset(&args, 0xff, sizeof(args));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek64(word));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek64(word));
}

static void parameters_may_come_in_a_buffer(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(8);
    struct mgds_flag_args args = {.write = word, .write_value = 77};
    size_t size = sizeof(args);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};

    OK(cu.LaunchKernel(mgds_flag_function(), 1, 1, 1, 1, 1, 1, 0, s, NULL,
                       extra));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(77, mgds_peek64(word));
}

static void kernel_is_in_stream_order(void)
{
    CUfunction flag = warm_flag();
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr words = mgds_zeroed(16);
    struct mgds_flag_args args = {.write = words, .write_value = 3};

    mgds_hwqueue_hold(gate, s);
    OK(cu.MemsetD32Async(words, 1, 2, s));
    OK(mgds_kernel_launch(flag, s, &args));
    OK(cu.MemcpyDtoDAsync(words + 8, words, 8, s));
    OK(cu.MemsetD32Async(words, 0, 2, s));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, mgds_peek64(words));
    EXPECT_EQ(3, mgds_peek64(words + 8));
}

/* A kernel that runs until the host sets its flag. */
struct spin {
    CUfunction function;
    _Atomic uint64_t *flag, *to;
};

static struct spin spin_new(void)
{
    struct spin spin = {warm_flag(), mgds_pinned(8), mgds_pinned(8)};

    return spin;
}

static void spin_start(struct spin *spin, CUstream s)
{
    struct mgds_flag_args args = {.wait = mgds_address(spin->flag),
                                  .wait_value = 1,
                                  .write = mgds_address(spin->to),
                                  .write_value = 9};

    OK(mgds_kernel_launch(spin->function, s, &args));
}

static void running_kernel_sees_the_host_write(void)
{
    struct spin spin = spin_new();
    CUstream s = mgds_free_stream();

    spin_start(&spin, s);
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    EXPECT_EQ(0, atomic_load(spin.to));
    atomic_store(spin.flag, 1);
    while (atomic_load(spin.to) != 9)
        sched_yield();
    OK(cu.StreamSynchronize(s));
}

static void running_kernel_holds_its_stream_only(void)
{
    struct spin spin = spin_new();
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(8);
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);

    spin_start(&spin, s);
    OK(cu.MemsetD32Async(words, 1, 1, s));
    OK(cu.EventRecord(e, s));
    OK(cu.MemsetD32Async(words + 4, 2, 1, other));
    OK(cu.StreamSynchronize(other));
    EXPECT_EQ(0x200000000, mgds_peek64(words));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    atomic_store(spin.flag, 1);
    OK(cu.EventSynchronize(e));
    EXPECT_EQ(0x200000001, mgds_peek64(words));
}

static void kernel_gives_up_when_told(void)
{
    CUfunction flag = warm_flag();
    CUstream s = mgds_free_stream();
    _Atomic uint64_t *abort = mgds_pinned(sizeof(struct mgds_desk));
    CUdeviceptr words = mgds_zeroed(16);
    struct mgds_flag_args args = {.wait = words,
                                  .wait_value = 1,
                                  .write = words + 8,
                                  .write_value = 9,
                                  .abort = mgds_address(abort)};

    OK(mgds_kernel_launch(flag, s, &args));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    atomic_store(abort, 1);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, mgds_peek64(words + 8));
}

static void kernel_of_one_stream_releases_another(void)
{
    CUfunction flag = warm_flag();
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(8), done = mgds_zeroed(4);
    struct mgds_flag_args args = {.write = word, .write_value = 5};

    OK(cu.StreamWaitValue32(a, word, 5, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.MemsetD32Async(done, 1, 1, a));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(done));
    OK(mgds_kernel_launch(flag, b, &args));
    OK(cu.StreamSynchronize(a));
    EXPECT_EQ(1, mgds_peek(done));
    OK(cu.StreamSynchronize(b));
}

static void memory_operation_releases_a_running_kernel(void)
{
    CUfunction flag = warm_flag();
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(16);
    struct mgds_flag_args args = {
        .wait = words, .wait_value = 4, .write = words + 8, .write_value = 5};

    OK(mgds_kernel_launch(flag, a, &args));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(a));
    OK(cu.StreamWriteValue64(b, words, 4, 0));
    OK(cu.StreamSynchronize(a));
    EXPECT_EQ(5, mgds_peek64(words + 8));
    OK(cu.StreamSynchronize(b));
}

static void captured_kernel_is_replayed(void)
{
    CUfunction copy = mgds_copy_function();
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(24);
    struct mgds_copy_args first = {.dst = words + 8, .src = words, .bytes = 8};
    struct mgds_copy_args second = {
        .dst = words + 16, .src = words + 8, .bytes = 8};
    CUgraphExec exec;
    CUgraph graph;

    OK(cu.StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(mgds_kernel_launch(copy, s, &first));
    OK(mgds_kernel_launch(copy, s, &second));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphDestroy(graph));
    for (uint64_t i = 1; i < 8; i++) {
        mgds_poke64(words, i);
        EXPECT_EQ(i - 1, mgds_peek64(words + 16));
        OK(cu.GraphLaunch(exec, s));
        OK(cu.StreamSynchronize(s));
        EXPECT_EQ(i, mgds_peek64(words + 16));
    }
    OK(cu.GraphExecDestroy(exec));
}

/* Launch with programmatic stream serialization allowed. */
static CUresult launch_early(CUfunction function, CUstream s, void *args)
{
    CUlaunchAttribute attribute = {0};
    CUlaunchConfig config = {0};
    void *params[] = {args};

    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = s;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cu.LaunchKernelEx(&config, function, params, NULL);
}

static void programmatic_serialization_is_accepted(void)
{
    CUfunction flag = warm_flag();
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(24);

    for (uint64_t i = 0; i < 3; i++) {
        struct mgds_flag_args args = {.write = words + 8 * i,
                                      .write_value = i + 1};

        OK(launch_early(flag, s, &args));
    }
    OK(cu.StreamSynchronize(s));
    for (uint64_t i = 0; i < 3; i++)
        EXPECT_EQ(i + 1, mgds_peek64(words + 8 * i));
}

/* What follows the early launches still comes after all of them. */
static void copy_behind_programmatic_launches_sees_their_data(void)
{
    CUfunction flag = warm_flag();
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(32);
    struct mgds_flag_args a = {.write = words, .write_value = 1};
    struct mgds_flag_args b = {.write = words + 8, .write_value = 2};

    OK(mgds_kernel_launch(flag, s, &a));
    OK(launch_early(flag, s, &b));
    OK(cu.MemcpyDtoDAsync(words + 16, words, 16, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek64(words + 16));
    EXPECT_EQ(2, mgds_peek64(words + 24));
}

static void programmatic_launch_is_captured_too(void)
{
    CUfunction flag = warm_flag();
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(16);
    struct mgds_flag_args a = {.write = words, .write_value = 1};
    struct mgds_flag_args b = {.write = words + 8, .write_value = 2};
    CUgraphExec exec;
    CUgraph graph;

    OK(cu.StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(launch_early(flag, s, &a));
    OK(launch_early(flag, s, &b));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphDestroy(graph));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek64(words));
    EXPECT_EQ(2, mgds_peek64(words + 8));
    OK(cu.GraphExecDestroy(exec));
}

static CUresult launch_shape(CUfunction function, CUstream s, unsigned grid,
                             unsigned block, unsigned shared)
{
    struct mgds_flag_args args = {0};
    void *params[] = {&args};

    return cu.LaunchKernel(function, grid, 1, 1, block, 1, 1, shared, s, params,
                           NULL);
}

static void impossible_launches_are_refused(void)
{
    CUfunction flag = warm_flag();
    CUstream s = mgds_free_stream();

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, launch_shape(flag, s, 1, 2048, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, launch_shape(flag, s, 0, 1, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, launch_shape(flag, s, 1, 0, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, launch_shape(flag, s, 1, 1, 1u << 30));
    OK(cu.StreamSynchronize(s));
}

static void missing_function_is_an_invalid_handle(void)
{
    CUstream s = mgds_free_stream();

    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, mgds_kernel_launch(NULL, s, NULL));
}

/* The fat binary the library loads, as this build made it. */
static void image_of_the_library_loads_and_runs(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(64), ticket = mgds_zeroed(8);
    struct mgds_copy_args args = {.dst = words + 16,
                                  .src = words,
                                  .bytes = 16,
                                  .flag = words + 32,
                                  .ticket = ticket,
                                  .value = 3};
    void *params[] = {&args};
    CUfunction copy, flag;
    CUmodule module;

    mgds_poke64(words + 8, 0x1234);
    OK(cu.ModuleLoadData(&module, mgds_kernel_image));
    OK(cu.ModuleGetFunction(&flag, module, "mgds_flag_kernel"));
    OK(cu.ModuleGetFunction(&copy, module, "mgds_copy_kernel"));
    for (uint64_t i = 1; i < 4; i++) {
        args.value = i;
        OK(cu.LaunchKernel(copy, 4, 1, 1, 64, 1, 1, 0, s, params, NULL));
        OK(cu.StreamSynchronize(s));
        EXPECT_EQ(i, mgds_peek64(words + 32));
    }
    EXPECT_EQ(0x1234, mgds_peek64(words + 24));
    EXPECT_EQ(0, mgds_peek64(ticket));
    OK(cu.ModuleUnload(module));
}

static void unknown_kernel_name_is_not_found(void)
{
    CUfunction function;
    CUmodule module;

    OK(cu.ModuleLoadData(&module, mgds_list_ptx));
    EXPECT_CU(CUDA_ERROR_NOT_FOUND,
              cu.ModuleGetFunction(&function, module, "mgds_no_such_kernel"));
    OK(cu.ModuleUnload(module));
}

static void function_tells_its_limits(void)
{
    CUfunction flag = mgds_flag_function();
    int threads = 0, shared = -1;

    OK(cu.FuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                           flag));
    EXPECT_EQ(1024, threads);
    OK(cu.FuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, flag));
    EXPECT_EQ(0, shared);
}

static void kernel_stores_to_its_peer(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr far_at;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    far_at = mgds_zeroed(8);
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    OK(cu.CtxEnablePeerAccess(mgds_env_ctx(1), 0));
    OK(mgds_kernel_store(s, far_at, 6));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(6, mgds_peek64(far_at));
    OK(cu.CtxDisablePeerAccess(mgds_env_ctx(1)));
}

static void kernel_of_another_context_is_refused(void)
{
    CUfunction flag = mgds_flag_function();
    struct mgds_flag_args args = {.write = mgds_zeroed(8)};
    CUstream other;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    other = mgds_free_stream();
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE,
              mgds_kernel_launch(flag, other, &args));
    (void)cu.StreamSynchronize(other);
}

/* A store by a kernel in a stream, step by step. */
struct store {
    CUstream stream;
    CUdeviceptr word;
    CUfunction flag;
    atomic_int step; /* calls that came back */
};

static const char *const store_calls[] = {
    "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel", "the kernel",
    "nothing"};

static void run_task(void *arg)
{
    struct store *l = arg;
    struct mgds_flag_args args = {.write = l->word, .write_value = 1};

    OK(mgds_kernel_launch(l->flag, l->stream, &args));
    atomic_fetch_add(&l->step, 1);
    OK(cu.StreamSynchronize(l->stream));
    atomic_fetch_add(&l->step, 1);
}

static void load_and_run_task(void *arg)
{
    struct store *l = arg;
    CUmodule module;

    OK(cu.ModuleLoadData(&module, mgds_list_ptx));
    atomic_fetch_add(&l->step, 1);
    OK(cu.ModuleGetFunction(&l->flag, module, "mgds_flag_kernel"));
    atomic_fetch_add(&l->step, 1);
    run_task(l);
}

static void launching_a_loaded_kernel_does_not_wait_for_other_streams(void)
{
    struct store l = {.flag = warm_flag(),
                      .stream = mgds_free_stream(),
                      .word = mgds_zeroed(8)};
    CUstream held = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, held);
    mgds_expect_returns(gate, "cuLaunchKernel", run_task, &l);
    EXPECT_EQ(1, mgds_peek64(l.word));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(held));
}

/* H200, driver 580: a new module, of the same text as one in use even, does
 * not get through its first launch while another stream stands in a wait. */
static void loading_a_kernel_waits_for_the_device(void)
{
    struct store l = {.stream = mgds_free_stream(), .word = mgds_zeroed(8)};
    CUstream held = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    struct mgds_task task;

    (void)warm_flag();
    mgds_hwqueue_hold(gate, held);
    mgds_task_start(&task, load_and_run_task, &l);
    EXPECT(!mgds_task_ended_within(&task, mgds_blocked_ms));
    mgds_case_note("%s waits for the other stream",
                   store_calls[atomic_load(&l.step)]);
    mgds_hwqueue_open(gate);
    mgds_task_join(&task);
    OK(cu.StreamSynchronize(held));
    EXPECT_EQ(1, mgds_peek64(l.word));
}

const struct mgds_case mgds_cases_kernel[] = {
    CASE(kernel_stores_what_it_is_told, NEED_KERNELS),
    CASE(kernel_runs_its_whole_grid, NEED_KERNELS),
    CASE(parameters_are_taken_at_the_call, NEED_KERNELS | NEED_MEMOPS),
    CASE(parameters_may_come_in_a_buffer, NEED_KERNELS),
    CASE(kernel_is_in_stream_order, NEED_KERNELS | NEED_MEMOPS),
    CASE(running_kernel_sees_the_host_write, NEED_KERNELS),
    CASE(running_kernel_holds_its_stream_only, NEED_KERNELS),
    CASE(kernel_gives_up_when_told, NEED_KERNELS),
    CASE(kernel_of_one_stream_releases_another, NEED_KERNELS | NEED_MEMOPS),
    CASE(memory_operation_releases_a_running_kernel,
         NEED_KERNELS | NEED_MEMOPS | NEED_MEMOP64),
    CASE(captured_kernel_is_replayed, NEED_KERNELS),
    CASE(programmatic_serialization_is_accepted, NEED_KERNELS),
    CASE(copy_behind_programmatic_launches_sees_their_data, NEED_KERNELS),
    CASE(programmatic_launch_is_captured_too, NEED_KERNELS),
    CASE(impossible_launches_are_refused, NEED_KERNELS),
    CASE(missing_function_is_an_invalid_handle, NEED_KERNELS),
    CASE(unknown_kernel_name_is_not_found, NEED_KERNELS),
    CASE(image_of_the_library_loads_and_runs, NEED_KERNELS | NEED_IMAGE),
    CASE(function_tells_its_limits, NEED_KERNELS),
    CASE(kernel_stores_to_its_peer, NEED_KERNELS | NEED_PEER),
    CASE(kernel_of_another_context_is_refused, NEED_KERNELS | NEED_2DEV),
    CASE(launching_a_loaded_kernel_does_not_wait_for_other_streams,
         NEED_KERNELS | NEED_MEMOPS),
    CASE(loading_a_kernel_waits_for_the_device, NEED_KERNELS | NEED_MEMOPS),
    CASE_END,
};
