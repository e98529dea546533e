/* Device memory shared by legacy handles between processes (Driver API,
 * cuIpcGetMemHandle and friends). The peer process is forked before either
 * side initialises CUDA. */
#include <stdlib.h>
#include <string.h>

#include "case.h"

#define BYTES ((size_t)4 << 20)
#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

/* The exporter's side: memory, and its handle sent to the peer. */
static CUdeviceptr export_to(int sock, size_t bytes)
{
    CUdeviceptr at = mgds_zeroed(bytes);
    CUipcMemHandle handle;

    OK(cu.IpcGetMemHandle(&handle, at));
    mgds_peer_send(sock, &handle, sizeof(handle));
    return at;
}

static CUipcMemHandle handle_from(int sock)
{
    CUipcMemHandle handle;

    mgds_peer_recv(sock, &handle, sizeof(handle));
    return handle;
}

static CUdeviceptr import_from(int sock)
{
    CUipcMemHandle handle = handle_from(sock);
    CUdeviceptr at;

    OK(cu.IpcOpenMemHandle(&at, handle, LAZY));
    return at;
}

/* The exporter's part when only the importer has something to check. */
static void serve(void (*importer)(int sock), size_t bytes)
{
    struct mgds_peer peer;

    mgds_peer_start(&peer, importer);
    mgds_env_start();
    export_to(peer.fd, bytes);
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void share_importer(int sock)
{
    CUdeviceptr at;

    mgds_env_start();
    at = import_from(sock);
    mgds_peer_meet(sock);
    EXPECT_EQ(5, mgds_peek(at));
    EXPECT_EQ(6, mgds_peek(at + BYTES - 4));
    mgds_poke(at + 8, 7);
    mgds_peer_meet(sock);
    OK(cu.IpcCloseMemHandle(at));
    mgds_peer_meet(sock);
}

static void exported_memory_is_one_in_both_processes(void)
{
    struct mgds_peer peer;
    CUdeviceptr at;

    mgds_peer_start(&peer, share_importer);
    mgds_env_start();
    at = export_to(peer.fd, BYTES);
    mgds_poke(at, 5);
    mgds_poke(at + BYTES - 4, 6);
    mgds_peer_meet(peer.fd);
    mgds_peer_meet(peer.fd);
    EXPECT_EQ(7, mgds_peek(at + 8));
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
    OK(cu.MemFree(at));
}

/* Allocations smaller than a page of the device share one: the import still
 * points to the very allocation. */
static void small_exporter_pair(int sock)
{
    CUdeviceptr a, b;

    mgds_env_start();
    a = import_from(sock);
    b = import_from(sock);
    mgds_peer_meet(sock);
    EXPECT_EQ(1, mgds_peek(a));
    EXPECT_EQ(2, mgds_peek(b));
    mgds_case_note("two small imports lie %lld bytes apart",
                   (long long)(b - a));
    OK(cu.IpcCloseMemHandle(a));
    OK(cu.IpcCloseMemHandle(b));
    mgds_peer_meet(sock);
}

static void small_allocations_are_imported_at_their_start(void)
{
    struct mgds_peer peer;
    CUdeviceptr a, b;

    mgds_peer_start(&peer, small_exporter_pair);
    mgds_env_start();
    a = export_to(peer.fd, 1000);
    b = export_to(peer.fd, 1000);
    mgds_poke(a, 1);
    mgds_poke(b, 2);
    mgds_peer_meet(peer.fd);
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void interior_importer(int sock)
{
    CUipcMemHandle handle;
    CUdeviceptr at;

    mgds_env_start();
    handle = handle_from(sock);
    OK(cu.IpcOpenMemHandle(&at, handle, LAZY));
    EXPECT_EQ(3, mgds_peek(at));
    OK(cu.IpcCloseMemHandle(at));
    mgds_peer_meet(sock);
}

/* A handle names the allocation; the offset is the caller's business. */
static void handle_of_an_interior_pointer_opens_the_start(void)
{
    struct mgds_peer peer;
    CUipcMemHandle base, inner;
    CUdeviceptr at;

    mgds_peer_start(&peer, interior_importer);
    mgds_env_start();
    at = mgds_zeroed(BYTES);
    mgds_poke(at, 3);
    mgds_poke(at + 4096, 4);
    OK(cu.IpcGetMemHandle(&base, at));
    OK(cu.IpcGetMemHandle(&inner, at + 4096));
    mgds_case_note("handle of an interior pointer is the base's: %d",
                   memcmp(&base, &inner, sizeof(base)) == 0);
    mgds_peer_send(peer.fd, &inner, sizeof(inner));
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void attribute_importer(int sock)
{
    CUdeviceptr at, start = 0;
    uint32_t type = 0;
    uint64_t ctx = 0, id = 0;
    size_t size = 0;
    unsigned char legacy = 9, managed = 9;

    mgds_env_start();
    at = import_from(sock);
    OK(cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, type);
    OK(cu.PointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    EXPECT_EQ((uintptr_t)mgds_env_ctx(0), ctx);
    OK(cu.PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
    EXPECT(id != 0);
    OK(cu.PointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
    EXPECT_EQ(0, managed);
    OK(cu.PointerGetAttribute(
        &legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
    OK(cu.MemGetAddressRange(&start, &size, at + 100));
    EXPECT_EQ(at, start);
    EXPECT_EQ(BYTES, size);
    mgds_case_note("imported memory can be exported again: %u", legacy);
    OK(cu.IpcCloseMemHandle(at));
    EXPECT_CU(
        CUDA_ERROR_INVALID_VALUE,
        cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    mgds_peer_meet(sock);
}

static void imported_memory_tells_its_kind(void)
{
    serve(attribute_importer, BYTES);
}

/* "If the memory handle has already been opened by the current context, the
 * reference count on the handle is incremented by 1 and the existing device
 * pointer is returned." */
static void twice_importer(int sock)
{
    CUipcMemHandle handle;
    CUdeviceptr a = 0, b = 0;

    mgds_env_start();
    handle = handle_from(sock);
    OK(cu.IpcOpenMemHandle(&a, handle, LAZY));
    OK(cu.IpcOpenMemHandle(&b, handle, LAZY));
    EXPECT_EQ(a, b);
    OK(cu.IpcCloseMemHandle(a));
    EXPECT_EQ(0, mgds_peek(b));
    OK(cu.IpcCloseMemHandle(b));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcCloseMemHandle(b));
    mgds_peer_meet(sock);
}

static void handle_opened_twice_is_counted(void)
{
    serve(twice_importer, BYTES);
}

static void misuse_importer(int sock)
{
    CUipcMemHandle handle, zero = {{0}};
    CUdeviceptr at, junk;

    mgds_env_start();
    handle = handle_from(sock);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcOpenMemHandle(&junk, handle, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcOpenMemHandle(&junk, handle, 8));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcOpenMemHandle(&junk, zero, LAZY));
    OK(cu.IpcOpenMemHandle(&at, handle, LAZY));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFree(at));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcCloseMemHandle(at + 4096));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcGetMemHandle(&zero, at));
    OK(cu.IpcCloseMemHandle(at));
    mgds_peer_meet(sock);
}

static void importer_misuse_is_refused(void)
{
    serve(misuse_importer, BYTES);
}

static void stale_importer(int sock)
{
    CUipcMemHandle handle;
    CUdeviceptr at;
    CUresult rc;

    mgds_env_start();
    handle = handle_from(sock);
    mgds_peer_meet(sock);
    rc = cu.IpcOpenMemHandle(&at, handle, LAZY);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, rc);
    mgds_peer_meet(sock);
}

static void handle_of_freed_memory_does_not_open(void)
{
    struct mgds_peer peer;
    CUipcMemHandle handle;
    CUdeviceptr at;

    mgds_peer_start(&peer, stale_importer);
    mgds_env_start();
    OK(cu.MemAlloc(&at, BYTES));
    OK(cu.IpcGetMemHandle(&handle, at));
    mgds_peer_send(peer.fd, &handle, sizeof(handle));
    OK(cu.MemFree(at));
    mgds_peer_meet(peer.fd);
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void own_handle_is_not_opened_by_its_exporter(void)
{
    CUdeviceptr at = mgds_zeroed(BYTES), again;
    CUipcMemHandle handle;

    OK(cu.IpcGetMemHandle(&handle, at));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT,
              cu.IpcOpenMemHandle(&again, handle, LAZY));
    OK(cu.MemsetD8(at, 1, BYTES));
    OK(cu.CtxSynchronize());
}

static void only_plain_device_memory_is_exported(void)
{
    static uint64_t plain;
    void *host = mgds_pinned(4096);
    CUipcMemHandle handle;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.IpcGetMemHandle(&handle, mgds_address(&plain)));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.IpcGetMemHandle(&handle, mgds_address(host)));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcGetMemHandle(&handle, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.IpcCloseMemHandle(mgds_zeroed(4096)));
}

static void stream_ordered_memory_is_not_exported(void)
{
    CUstream s = mgds_free_stream();
    CUipcMemHandle handle;
    CUdeviceptr at;

    OK(cu.MemAllocAsync(&at, BYTES, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcGetMemHandle(&handle, at));
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
}

static void managed_memory_is_not_exported(void)
{
    CUipcMemHandle handle;
    CUdeviceptr at;

    OK(cu.MemAllocManaged(&at, BYTES, CU_MEM_ATTACH_GLOBAL));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcGetMemHandle(&handle, at));
    OK(cu.MemFree(at));
}

/* Streams of two processes meet over words in shared device memory. */
static void flag_importer(int sock)
{
    CUdeviceptr at;
    CUstream s;

    mgds_env_start();
    at = import_from(sock);
    s = mgds_free_stream();
    for (uint32_t i = 1; i <= 20; i++) {
        OK(cu.StreamWaitValue32(s, at, i, CU_STREAM_WAIT_VALUE_GEQ));
        OK(cu.StreamWriteValue32(s, at + 4, i, 0));
    }
    OK(cu.StreamSynchronize(s));
    OK(cu.IpcCloseMemHandle(at));
    mgds_peer_meet(sock);
}

static void streams_of_two_processes_play_ping_pong(void)
{
    struct mgds_peer peer;
    CUdeviceptr at;
    CUstream s;

    mgds_peer_start(&peer, flag_importer);
    mgds_env_start();
    at = export_to(peer.fd, BYTES);
    s = mgds_free_stream();
    for (uint32_t i = 1; i <= 20; i++) {
        OK(cu.StreamWriteValue32(s, at, i, 0));
        OK(cu.StreamWaitValue32(s, at + 4, i, CU_STREAM_WAIT_VALUE_GEQ));
    }
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(20, mgds_peek(at + 4));
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void far_importer(int sock)
{
    CUdeviceptr at, own;
    CUstream s;
    uint32_t ordinal = 9;

    mgds_env_start();
    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    at = import_from(sock);
    own = mgds_zeroed(64);
    s = mgds_free_stream();
    OK(cu.MemsetD32Async(own, 9, 1, s));
    OK(cu.MemcpyDtoDAsync(at, own, 4, s));
    OK(cu.StreamWriteValue32(s, at + 4, 1, 0));
    OK(cu.StreamSynchronize(s));
    OK(cu.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                              at));
    mgds_case_note("memory of device 0 imported in a context of device 1 "
                   "says device %u",
                   ordinal);
    OK(cu.IpcCloseMemHandle(at));
    mgds_peer_meet(sock);
}

static void memory_is_imported_by_another_device(void)
{
    struct mgds_peer peer;
    CUdeviceptr at;
    CUstream s;

    mgds_peer_start(&peer, far_importer);
    mgds_env_start();
    at = export_to(peer.fd, BYTES);
    s = mgds_free_stream();
    OK(cu.StreamWaitValue32(s, at + 4, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(9, mgds_peek(at));
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static CUipcMemHandle waiting_handle;
static CUdeviceptr waiting_at;

static void open_task(void *arg)
{
    (void)arg;
    OK(cu.IpcOpenMemHandle(&waiting_at, waiting_handle, LAZY));
}

static void close_task(void *arg)
{
    (void)arg;
    OK(cu.IpcCloseMemHandle(waiting_at));
}

/* Measured: opening does not wait for the device, closing does. */
static void waiting_importer(int sock)
{
    struct mgds_hwqueue gate;
    CUstream held;

    mgds_env_start();
    waiting_handle = handle_from(sock);
    held = mgds_free_stream();
    gate = mgds_hwqueue_new();
    mgds_hwqueue_hold(gate, held);
    mgds_expect_returns(gate, "cuIpcOpenMemHandle", open_task, NULL);
    mgds_expect_blocked(gate, "cuIpcCloseMemHandle", close_task, NULL);
    OK(cu.StreamSynchronize(held));
    mgds_peer_meet(sock);
}

static void close_waits_for_the_device_and_open_does_not(void)
{
    serve(waiting_importer, BYTES);
}

const struct mgds_case mgds_cases_ipc[] = {
    CASE(exported_memory_is_one_in_both_processes, NEED_IPC, FRESH),
    CASE(small_allocations_are_imported_at_their_start, NEED_IPC, FRESH),
    CASE(handle_of_an_interior_pointer_opens_the_start, NEED_IPC, FRESH),
    CASE(imported_memory_tells_its_kind, NEED_IPC, FRESH),
    CASE(handle_opened_twice_is_counted, NEED_IPC, FRESH),
    CASE(importer_misuse_is_refused, NEED_IPC, FRESH),
    CASE(handle_of_freed_memory_does_not_open, NEED_IPC, FRESH),
    CASE(own_handle_is_not_opened_by_its_exporter, NEED_IPC),
    CASE(only_plain_device_memory_is_exported, NEED_IPC),
    CASE(stream_ordered_memory_is_not_exported, NEED_IPC | NEED_POOLS),
    CASE(managed_memory_is_not_exported, NEED_IPC | NEED_MANAGED),
    CASE(streams_of_two_processes_play_ping_pong, NEED_IPC | NEED_MEMOPS,
         FRESH),
    CASE(memory_is_imported_by_another_device,
         NEED_IPC | NEED_PEER | NEED_MEMOPS, FRESH),
    CASE(close_waits_for_the_device_and_open_does_not, NEED_IPC | NEED_MEMOPS,
         FRESH),
    CASE_END,
};
