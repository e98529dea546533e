/* A fault on the device: the process is lost, every later call says so, in
 * the contexts of other devices too (Driver API, CUDA_ERROR_ILLEGAL_ADDRESS:
 * "This leaves the process in an inconsistent state and any further CUDA work
 * will return the same error"); other processes go on. Each case has a process
 * to itself. */
#include <stdatomic.h>

#include "case.h"
#include "kernel.h"

/* No allocation is ever there. */
#define NOWHERE ((CUdeviceptr)0x10)
#define LOST CUDA_ERROR_ILLEGAL_ADDRESS

static CUstream fault(void)
{
    CUstream s = mgds_free_stream();

    /* The launch itself is fine: the fault comes later. */
    OK(mgds_kernel_store(s, NOWHERE, 1));
    EXPECT_CU(LOST, cu.StreamSynchronize(s));
    return s;
}

static void illegal_address_is_told_when_waited_for(void)
{
    (void)fault();
}

static void illegal_address_sticks_to_the_context(void)
{
    CUdeviceptr at = mgds_zeroed(64), more;
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUstream s, other = mgds_free_stream();
    uint32_t word;

    s = fault();
    EXPECT_CU(LOST, cu.StreamSynchronize(s));
    EXPECT_CU(LOST, cu.StreamQuery(s));
    EXPECT_CU(LOST, cu.StreamQuery(other));
    EXPECT_CU(LOST, cu.CtxSynchronize());
    EXPECT_CU(LOST, cu.MemAlloc(&more, 64));
    EXPECT_CU(LOST, cu.MemcpyDtoH(&word, at, 4));
    EXPECT_CU(LOST, cu.MemsetD32Async(at, 1, 1, other));
    EXPECT_CU(LOST, cu.EventRecord(e, other));
    EXPECT_CU(LOST, cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
}

static void memory_operations_fail_in_a_lost_context(void)
{
    CUdeviceptr at = mgds_zeroed(64);
    CUstream other = mgds_free_stream();

    (void)fault();
    EXPECT_CU(LOST, cu.StreamWriteValue32(other, at, 1, 0));
    EXPECT_CU(LOST,
              cu.StreamWaitValue32(other, at, 0, CU_STREAM_WAIT_VALUE_EQ));
}

static void lost_context_still_answers_for_pointers(void)
{
    CUdeviceptr at = mgds_zeroed(64);
    uint32_t type = 0;
    CUcontext ctx = NULL;

    (void)fault();
    EXPECT_CU(CUDA_SUCCESS, cu.PointerGetAttribute(
                                &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    OK(cu.CtxGetCurrent(&ctx));
    EXPECT(ctx == mgds_env_ctx(0));
}

static void freeing_in_a_lost_context_says_so(void)
{
    CUdeviceptr at = mgds_zeroed(64);
    void *host = mgds_pinned(64);

    (void)fault();
    EXPECT_CU(LOST, cu.MemFree(at));
    EXPECT_CU(LOST, cu.MemFreeHost(host));
}

static void CUDA_CB count(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* "In the event of a device error ... the host function will not be run". */
static void host_function_does_not_run_in_a_lost_context(void)
{
    static atomic_int calls;
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUfunction flag = mgds_flag_function();
    struct mgds_flag_args args = {.write = NOWHERE};

    mgds_hwqueue_hold(gate, s);
    OK(mgds_kernel_launch(flag, s, &args));
    OK(cu.LaunchHostFunc(s, count, &calls));
    mgds_hwqueue_open(gate);
    EXPECT_CU(LOST, cu.StreamSynchronize(s));
    EXPECT_EQ(0, atomic_load(&calls));
}

struct reply {
    atomic_int calls;
    int status;
};

static void CUDA_CB reply(CUstream stream, CUresult status, void *arg)
{
    struct reply *r = arg;

    (void)stream;
    r->status = (int)status;
    atomic_fetch_add(&r->calls, 1);
}

static bool called(struct reply *r)
{
    for (int i = 0; i < 10000000 && atomic_load(&r->calls) == 0; i++)
        sched_yield();
    return atomic_load(&r->calls) > 0;
}

/* A callback, unlike a host function, is told of the error. */
static void callback_is_told_of_the_lost_context(void)
{
    static struct reply r;
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUfunction flag = mgds_flag_function();
    struct mgds_flag_args args = {.write = NOWHERE};

    mgds_hwqueue_hold(gate, s);
    OK(mgds_kernel_launch(flag, s, &args));
    OK(cu.StreamAddCallback(s, reply, &r, 0));
    mgds_hwqueue_open(gate);
    EXPECT_CU(LOST, cu.StreamSynchronize(s));
    EXPECT(called(&r));
    EXPECT_CU(LOST, r.status);
}

/* H200, driver 580, without peer access between the two. */
static void other_device_of_the_process_is_lost_too(void)
{
    CUdeviceptr word;
    uint32_t got;
    CUstream s;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    word = mgds_zeroed(4);
    s = mgds_free_stream();
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    (void)fault();
    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    EXPECT_CU(LOST, cu.MemsetD32Async(word, 5, 1, s));
    EXPECT_CU(LOST, cu.StreamSynchronize(s));
    EXPECT_CU(LOST, cu.MemcpyDtoH(&got, word, 4));
}

static void faulter(int sock)
{
    mgds_env_start();
    mgds_peer_meet(sock);
    (void)fault();
    mgds_peer_meet(sock);
}

static void other_process_is_not_lost(void)
{
    struct mgds_peer peer;
    CUdeviceptr word;

    mgds_peer_start(&peer, faulter);
    mgds_env_start();
    word = mgds_zeroed(4);
    mgds_peer_meet(peer.fd);
    mgds_peer_meet(peer.fd);
    mgds_poke(word, 4);
    EXPECT_EQ(4, mgds_peek(word));
    OK(cu.CtxSynchronize());
    mgds_peer_end(&peer);
}

static void event_behind_a_fault_tells_of_it(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUfunction flag = mgds_flag_function();
    struct mgds_flag_args args = {.write = NOWHERE};

    mgds_hwqueue_hold(gate, s);
    OK(mgds_kernel_launch(flag, s, &args));
    OK(cu.EventRecord(e, s));
    mgds_hwqueue_open(gate);
    EXPECT_CU(LOST, cu.EventSynchronize(e));
    EXPECT_CU(LOST, cu.EventQuery(e));
}

/* H200, driver 580: there is no way back but a new process. */
static void reset_does_not_heal_a_lost_process(void)
{
    CUdeviceptr at;
    CUcontext ctx = NULL;

    (void)fault();
    EXPECT_CU(CUDA_SUCCESS, cu.DevicePrimaryCtxReset(mgds_env_device(0)));
    EXPECT_CU(LOST, cu.DevicePrimaryCtxRetain(&ctx, mgds_env_device(0)));
    (void)cu.CtxSetCurrent(NULL);
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.MemAlloc(&at, 64));
}

const struct mgds_case mgds_cases_sticky[] = {
    CASE(illegal_address_is_told_when_waited_for, NEED_KERNELS, ALONE),
    CASE(illegal_address_sticks_to_the_context, NEED_KERNELS, ALONE),
    CASE(memory_operations_fail_in_a_lost_context, NEED_KERNELS | NEED_MEMOPS,
         ALONE),
    CASE(lost_context_still_answers_for_pointers, NEED_KERNELS, ALONE),
    CASE(freeing_in_a_lost_context_says_so, NEED_KERNELS, ALONE),
    CASE(host_function_does_not_run_in_a_lost_context,
         NEED_KERNELS | NEED_MEMOPS, ALONE),
    CASE(callback_is_told_of_the_lost_context, NEED_KERNELS | NEED_MEMOPS,
         ALONE),
    CASE(other_device_of_the_process_is_lost_too, NEED_KERNELS | NEED_2DEV,
         ALONE),
    CASE(other_process_is_not_lost, NEED_KERNELS, FRESH),
    CASE(event_behind_a_fault_tells_of_it, NEED_KERNELS | NEED_MEMOPS, ALONE),
    CASE(reset_does_not_heal_a_lost_process, NEED_KERNELS, ALONE),
    CASE_END,
};
