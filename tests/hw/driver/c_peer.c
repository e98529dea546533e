/* Two devices of one process: peer access, copies, order between them (Driver
 * API, "Peer Context Memory Access"). */
#include "case.h"

/* A zeroed word on the second device; the first stays current. */
static CUdeviceptr far_word(void)
{
    CUdeviceptr at;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    at = mgds_zeroed(64);
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    return at;
}

static CUstream far_stream(void)
{
    CUstream s;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    s = mgds_free_stream();
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    return s;
}

static void device_is_not_its_own_peer(void)
{
    int can = 9;

    OK(cu.DeviceCanAccessPeer(&can, mgds_env_device(0), mgds_env_device(0)));
    EXPECT_EQ(0, can);
}

static void peer_access_is_enabled_once(void)
{
    CUcontext one = mgds_env_ctx(1);

    EXPECT_CU(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cu.CtxDisablePeerAccess(one));
    OK(cu.CtxEnablePeerAccess(one, 0));
    EXPECT_CU(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
              cu.CtxEnablePeerAccess(one, 0));
    OK(cu.CtxDisablePeerAccess(one));
    EXPECT_CU(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cu.CtxDisablePeerAccess(one));
}

static void peer_access_arguments_are_checked(void)
{
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.CtxEnablePeerAccess(mgds_env_ctx(1), 1));
    /* H200, driver 580: a context is no peer of its own. */
    EXPECT_CU(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
              cu.CtxEnablePeerAccess(mgds_env_ctx(0), 0));
}

/* Copies need no peer access: the driver stages them. */
static void copy_between_devices_needs_no_peer_access(void)
{
    CUdeviceptr near_at = mgds_zeroed(64), far_at = far_word();
    CUstream s = mgds_free_stream();

    OK(cu.MemsetD32Async(near_at, 5, 4, s));
    OK(cu.MemcpyPeerAsync(far_at, mgds_env_ctx(1), near_at, mgds_env_ctx(0), 16,
                          s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x500000005, mgds_peek64(far_at));
    mgds_poke(far_at, 6);
    OK(cu.MemcpyDtoDAsync(near_at, far_at, 4, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(6, mgds_peek(near_at));
    mgds_poke(near_at, 7);
    OK(cu.MemcpyPeer(far_at, mgds_env_ctx(1), near_at, mgds_env_ctx(0), 4));
    OK(cu.CtxSynchronize());
    EXPECT_EQ(7, mgds_peek(far_at));
}

static void copy_between_devices_is_in_stream_order(void)
{
    CUdeviceptr near_at = mgds_zeroed(64), far_at = far_word();
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, s);
    OK(cu.MemsetD32Async(near_at, 1, 1, s));
    OK(cu.MemcpyDtoDAsync(far_at, near_at, 4, s));
    OK(cu.MemsetD32Async(near_at, 2, 1, s));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(far_at));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek(far_at));
}

/* Where kernels of the current context may touch the memory. */
static CUresult device_pointer(CUdeviceptr at, CUdeviceptr *told)
{
    *told = 0;
    return cu.PointerGetAttribute(told, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                  at);
}

static void device_pointer_is_told_while_peer_access_is_enabled(void)
{
    CUdeviceptr far_at = far_word(), told;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, device_pointer(far_at, &told));
    OK(cu.CtxEnablePeerAccess(mgds_env_ctx(1), 0));
    OK(device_pointer(far_at, &told));
    EXPECT_EQ(far_at, told);
    OK(cu.CtxDisablePeerAccess(mgds_env_ctx(1)));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, device_pointer(far_at, &told));
}

static void set_reaches_the_peer_once_enabled(void)
{
    CUdeviceptr far_at = far_word();
    CUstream s = mgds_free_stream();

    OK(cu.CtxEnablePeerAccess(mgds_env_ctx(1), 0));
    OK(cu.MemsetD32Async(far_at, 5, 1, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(5, mgds_peek(far_at));
    OK(cu.CtxDisablePeerAccess(mgds_env_ctx(1)));
}

static void memory_operations_reach_the_peer_once_enabled(void)
{
    CUdeviceptr far_at = far_word();
    CUstream s = mgds_free_stream(), other = far_stream();

    OK(cu.CtxEnablePeerAccess(mgds_env_ctx(1), 0));
    OK(cu.StreamWaitValue32(other, far_at, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.StreamWriteValue32(other, far_at + 4, 2, 0));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(other));
    OK(cu.StreamWriteValue32(s, far_at, 1, 0));
    OK(cu.StreamWaitValue32(s, far_at + 4, 2, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.StreamSynchronize(other));
    OK(cu.StreamSynchronize(s));
    OK(cu.CtxDisablePeerAccess(mgds_env_ctx(1)));
}

static void memory_operation_on_the_peer_needs_peer_access(void)
{
    CUdeviceptr far_at = far_word();
    CUstream s = mgds_free_stream();

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.StreamWriteValue32(s, far_at, 1, 0));
    (void)cu.StreamSynchronize(s);
}

static void flag_behind_a_copy_to_the_peer_comes_after_it(void)
{
    enum { WORDS = 65536, ROUNDS = 20 };
    CUstream s = mgds_free_stream(), other = far_stream();
    CUdeviceptr from = mgds_zeroed(WORDS * sizeof(uint32_t)), to,
                flag = far_word();
    uint32_t *seen = mgds_pinned(8);

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    to = mgds_zeroed(WORDS * sizeof(uint32_t));
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    OK(cu.CtxEnablePeerAccess(mgds_env_ctx(1), 0));
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        OK(cu.StreamWaitValue32(other, flag, i, CU_STREAM_WAIT_VALUE_GEQ));
        OK(cu.MemcpyDtoHAsync(&seen[0], to, 4, other));
        OK(cu.MemcpyDtoHAsync(&seen[1], to + (WORDS - 1) * sizeof(uint32_t), 4,
                              other));
        OK(cu.MemsetD32Async(from, i, WORDS, s));
        OK(cu.MemcpyDtoDAsync(to, from, WORDS * sizeof(uint32_t), s));
        OK(cu.StreamWriteValue32(s, flag, i, 0));
        OK(cu.StreamSynchronize(other));
        EXPECT_EQ(i, seen[0]);
        EXPECT_EQ(i, seen[1]);
        OK(cu.StreamSynchronize(s));
    }
    OK(cu.CtxDisablePeerAccess(mgds_env_ctx(1)));
}

static void event_orders_copies_of_two_devices(void)
{
    CUdeviceptr a = mgds_zeroed(64), b = far_word();
    CUstream s = mgds_free_stream(), other = far_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, s);
    OK(cu.MemsetD32Async(a, 4, 1, s));
    OK(cu.EventRecord(e, s));
    OK(cu.StreamWaitEvent(other, e, 0));
    OK(cu.MemcpyDtoDAsync(b, a, 4, other));
    mgds_chance();
    EXPECT_EQ(0, mgds_peek(b));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(other));
    EXPECT_EQ(4, mgds_peek(b));
}

static void pinned_memory_of_one_device_serves_the_other(void)
{
    uint32_t *host = mgds_pinned(8);
    CUdeviceptr far_at = far_word();
    CUstream other = far_stream();

    host[0] = 11;
    OK(cu.MemcpyHtoDAsync(far_at, host, 4, other));
    OK(cu.StreamWriteValue32(other, mgds_address(&host[1]), 12, 0));
    OK(cu.StreamSynchronize(other));
    EXPECT_EQ(11, mgds_peek(far_at));
    EXPECT_EQ(12, host[1]);
}

static void peer_attributes_are_told(void)
{
    int value = 9;

    OK(cu.DeviceGetP2PAttribute(&value,
                                CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
                                mgds_env_device(0), mgds_env_device(1)));
    EXPECT_EQ(1, value);
    EXPECT_CU(CUDA_ERROR_INVALID_DEVICE,
              cu.DeviceGetP2PAttribute(&value,
                                       CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
                                       mgds_env_device(0), mgds_env_device(0)));
}

const struct mgds_case mgds_cases_peer[] = {
    CASE(device_is_not_its_own_peer),
    CASE(peer_access_is_enabled_once, NEED_PEER),
    CASE(peer_access_arguments_are_checked, NEED_PEER),
    CASE(copy_between_devices_needs_no_peer_access, NEED_2DEV),
    CASE(copy_between_devices_is_in_stream_order, NEED_2DEV | NEED_MEMOPS),
    CASE(device_pointer_is_told_while_peer_access_is_enabled, NEED_PEER),
    CASE(set_reaches_the_peer_once_enabled, NEED_PEER),
    CASE(memory_operations_reach_the_peer_once_enabled,
         NEED_PEER | NEED_MEMOPS),
    CASE(memory_operation_on_the_peer_needs_peer_access,
         NEED_PEER | NEED_MEMOPS, ALONE),
    CASE(flag_behind_a_copy_to_the_peer_comes_after_it,
         NEED_PEER | NEED_MEMOPS),
    CASE(event_orders_copies_of_two_devices, NEED_2DEV | NEED_MEMOPS),
    CASE(pinned_memory_of_one_device_serves_the_other, NEED_2DEV | NEED_MEMOPS),
    CASE(peer_attributes_are_told, NEED_PEER),
    CASE_END,
};
