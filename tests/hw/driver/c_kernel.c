/* Modules and kernel launches (Driver API, "Module Management", "Execution
 * Control"). The first launch may load code and wait for the device, so cases
 * that hold a stream warm their kernels up before. */
#include "kernel.h"

#include <stdatomic.h>
#include <string.h>

#include "case.h"

/* Loads and runs the kernel once. */
static CUfunction warm(enum mgds_kernel kernel)
{
    CUfunction function = mgds_kernel(kernel);
    CUdeviceptr word = mgds_zeroed(16), flag = mgds_zeroed(4);
    uint32_t value = 1;
    void *store[] = {&word, &value};
    void *spin[] = {&flag, &word, &value};
    void *copy[] = {&word, &flag, &value};
    void **params = kernel == KERNEL_SPIN   ? spin
                    : kernel == KERNEL_COPY ? copy
                                            : store;

    mgds_poke(flag, 1);
    OK(mgds_kernel_launch(function, NULL, params));
    OK(cu.StreamSynchronize(NULL));
    return function;
}

static void kernel_stores_what_it_is_told(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(8);

    OK(mgds_kernel_store(s, word + 4, 0xabcd));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0xabcd00000000, mgds_peek64(word));
}

static void kernel_runs_every_thread_of_its_grid(void)
{
    CUfunction count = warm(KERNEL_COUNT);
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    void *params[] = {&word};

    OK(cu.LaunchKernel(count, 5, 3, 2, 16, 4, 2, 0, s, params, NULL));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(5 * 3 * 2 * 16 * 4 * 2, mgds_peek(word));
}

static void kernel_knows_its_thread_and_block(void)
{
    enum { WORDS = 1000 };
    CUfunction copy = warm(KERNEL_COPY);
    CUstream s = mgds_free_stream();
    CUdeviceptr from = mgds_zeroed(4 * WORDS), to = mgds_zeroed(4 * WORDS + 4);
    uint32_t words = WORDS, host[WORDS], got[WORDS + 1];
    void *params[] = {&to, &from, &words};

    for (uint32_t i = 0; i < WORDS; i++)
        host[i] = i * 7 + 1;
    OK(cu.MemcpyHtoD(from, host, sizeof(host)));
    OK(cu.LaunchKernel(copy, 8, 1, 1, 128, 1, 1, 0, s, params, NULL));
    OK(cu.StreamSynchronize(s));
    OK(cu.MemcpyDtoH(got, to, sizeof(got)));
    EXPECT_EQ(0, memcmp(host, got, sizeof(host)));
    EXPECT_EQ(0, got[WORDS]);
}

static void parameters_are_taken_at_the_call(void)
{
    CUfunction store = warm(KERNEL_STORE);
    CUstream s = mgds_free_stream();
    struct mgds_gate gate = mgds_gate_new();
    CUdeviceptr word = mgds_zeroed(4), to = word;
    uint32_t value = 1;
    void *params[] = {&to, &value};

    mgds_gate_hold(gate, s);
    OK(mgds_kernel_launch(store, s, params));
    value = 2;
    to = 0;
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(word));
    mgds_gate_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek(word));
}

static void parameters_may_come_in_a_buffer(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    struct {
        CUdeviceptr to;
        uint32_t value;
    } block = {word, 77};
    size_t size = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};

    OK(cu.LaunchKernel(mgds_kernel(KERNEL_STORE), 1, 1, 1, 1, 1, 1, 0, s, NULL,
                       extra));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(77, mgds_peek(word));
}

static void kernel_is_in_stream_order(void)
{
    CUfunction store = warm(KERNEL_STORE);
    CUstream s = mgds_free_stream();
    struct mgds_gate gate = mgds_gate_new();
    CUdeviceptr words = mgds_zeroed(8);
    uint32_t value = 3;
    void *params[] = {&words, &value};

    mgds_gate_hold(gate, s);
    OK(cu.MemsetD32Async(words, 1, 1, s));
    OK(mgds_kernel_launch(store, s, params));
    OK(cu.MemcpyDtoDAsync(words + 4, words, 4, s));
    mgds_gate_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x300000003, mgds_peek64(words));
}

struct spin {
    CUfunction function;
    _Atomic uint32_t *flag, *to;
};

static struct spin spin_new(void)
{
    struct spin spin = {warm(KERNEL_SPIN), mgds_pinned(4), mgds_pinned(4)};

    return spin;
}

static void spin_start(struct spin *spin, CUstream s)
{
    CUdeviceptr flag = mgds_address(spin->flag), to = mgds_address(spin->to);
    uint32_t value = 9;
    void *params[] = {&flag, &to, &value};

    OK(mgds_kernel_launch(spin->function, s, params));
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

static void kernel_of_one_stream_releases_another(void)
{
    CUfunction store = warm(KERNEL_STORE);
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4), done = mgds_zeroed(4);
    uint32_t value = 5;
    void *params[] = {&word, &value};

    OK(cu.StreamWaitValue32(a, word, 5, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.MemsetD32Async(done, 1, 1, a));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(done));
    OK(mgds_kernel_launch(store, b, params));
    OK(cu.StreamSynchronize(a));
    EXPECT_EQ(1, mgds_peek(done));
    OK(cu.StreamSynchronize(b));
}

static void captured_kernel_is_replayed(void)
{
    enum { ROUNDS = 7 };
    CUfunction count = warm(KERNEL_COUNT);
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    void *params[] = {&word};
    CUgraphExec exec;
    CUgraph graph;

    OK(cu.StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(mgds_kernel_launch(count, s, params));
    OK(mgds_kernel_launch(count, s, params));
    OK(cu.StreamEndCapture(s, &graph));
    EXPECT_EQ(0, mgds_peek(word));
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphDestroy(graph));
    for (int i = 0; i < ROUNDS; i++)
        OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(2 * ROUNDS, mgds_peek(word));
    OK(cu.GraphExecDestroy(exec));
}

static CUresult launch_with(CUlaunchAttribute *attributes, unsigned count,
                            CUstream s, CUdeviceptr word)
{
    CUlaunchConfig config = {0};
    void *params[] = {&word};

    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 4;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = s;
    config.attrs = attributes;
    config.numAttrs = count;
    return cu.LaunchKernelEx(&config, mgds_kernel(KERNEL_COUNT), params, NULL);
}

static void programmatic_serialization_is_accepted(void)
{
    CUlaunchAttribute attribute = {0};
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);

    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    OK(launch_with(NULL, 0, s, word));
    OK(launch_with(&attribute, 1, s, word));
    OK(launch_with(&attribute, 1, s, word));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(12, mgds_peek(word));
}

static void programmatic_launch_is_captured_too(void)
{
    CUlaunchAttribute attribute = {0};
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    CUgraphExec exec;
    CUgraph graph;

    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    /* Loading a module while capturing is not what is looked at here. */
    OK(cu.StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(launch_with(&attribute, 1, s, word));
    OK(launch_with(&attribute, 1, s, word));
    OK(cu.StreamEndCapture(s, &graph));
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphDestroy(graph));
    OK(cu.GraphLaunch(exec, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(8, mgds_peek(word));
    OK(cu.GraphExecDestroy(exec));
}

static void impossible_launches_are_refused(void)
{
    CUfunction count = warm(KERNEL_COUNT);
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(4);
    void *p[] = {&word};

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.LaunchKernel(count, 1, 1, 1, 2048, 1, 1, 0, s, p, NULL));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.LaunchKernel(count, 0, 1, 1, 1, 1, 1, 0, s, p, NULL));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.LaunchKernel(count, 1, 1, 1, 0, 1, 1, 0, s, p, NULL));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.LaunchKernel(count, 1, 1, 1, 1, 1, 1, 1u << 30, s, p, NULL));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, mgds_peek(word));
}

static void missing_function_is_an_invalid_handle(void)
{
    CUstream s = mgds_free_stream();

    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, mgds_kernel_launch(NULL, s, NULL));
}

static void unknown_kernel_name_is_not_found(void)
{
    CUfunction function;
    CUmodule module;

    OK(cu.ModuleLoadData(&module, mgds_kernel_image));
    EXPECT_CU(CUDA_ERROR_NOT_FOUND,
              cu.ModuleGetFunction(&function, module, "mgds_list_no_such"));
    OK(cu.ModuleUnload(module));
}

static void function_tells_its_limits(void)
{
    CUfunction count = mgds_kernel(KERNEL_COUNT);
    int threads = 0, shared = -1;

    OK(cu.FuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                           count));
    EXPECT_EQ(1024, threads);
    OK(cu.FuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                           count));
    EXPECT_EQ(0, shared);
}

static void kernel_stores_to_its_peer(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr far_at;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    far_at = mgds_zeroed(4);
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    OK(cu.CtxEnablePeerAccess(mgds_env_ctx(1), 0));
    OK(mgds_kernel_store(s, far_at, 6));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(6, mgds_peek(far_at));
    OK(cu.CtxDisablePeerAccess(mgds_env_ctx(1)));
}

static void kernel_of_another_context_is_refused(void)
{
    CUfunction store = mgds_kernel(KERNEL_STORE);
    CUdeviceptr word = mgds_zeroed(4);
    uint32_t value = 1;
    void *params[] = {&word, &value};
    CUstream other;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    other = mgds_free_stream();
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE,
              mgds_kernel_launch(store, other, params));
    (void)cu.StreamSynchronize(other);
}

const struct mgds_case mgds_cases_kernel[] = {
    CASE(kernel_stores_what_it_is_told, NEED_KERNELS),
    CASE(kernel_runs_every_thread_of_its_grid, NEED_KERNELS),
    CASE(kernel_knows_its_thread_and_block, NEED_KERNELS),
    CASE(parameters_are_taken_at_the_call, NEED_KERNELS | NEED_MEMOPS),
    CASE(parameters_may_come_in_a_buffer, NEED_KERNELS),
    CASE(kernel_is_in_stream_order, NEED_KERNELS | NEED_MEMOPS),
    CASE(running_kernel_sees_the_host_write, NEED_KERNELS),
    CASE(running_kernel_holds_its_stream_only, NEED_KERNELS),
    CASE(kernel_of_one_stream_releases_another, NEED_KERNELS | NEED_MEMOPS),
    CASE(captured_kernel_is_replayed, NEED_KERNELS),
    CASE(programmatic_serialization_is_accepted, NEED_KERNELS),
    CASE(programmatic_launch_is_captured_too, NEED_KERNELS),
    CASE(impossible_launches_are_refused, NEED_KERNELS, UNSURE),
    CASE(missing_function_is_an_invalid_handle, NEED_KERNELS, ALONE | UNSURE),
    CASE(unknown_kernel_name_is_not_found, NEED_KERNELS),
    CASE(function_tells_its_limits, NEED_KERNELS),
    CASE(kernel_stores_to_its_peer, NEED_KERNELS | NEED_PEER),
    CASE(kernel_of_another_context_is_refused, NEED_KERNELS | NEED_2DEV,
         ALONE | UNSURE),
    CASE_END,
};
