/* Events shared between processes (Driver API, cuIpcGetEventHandle). */
#include "case.h"

#define SHARED (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)

static CUevent export_event(int sock)
{
    CUevent e = mgds_event(SHARED);
    CUipcEventHandle handle;

    OK(cu.IpcGetEventHandle(&handle, e));
    mgds_peer_send(sock, &handle, sizeof(handle));
    return e;
}

static CUevent import_event(int sock)
{
    CUipcEventHandle handle;
    CUevent e;

    mgds_peer_recv(sock, &handle, sizeof(handle));
    OK(cu.IpcOpenEventHandle(&e, handle));
    return e;
}

/* The importer's view follows the exporter's record. */
static void query_importer(int sock)
{
    CUstream s;
    CUevent e;

    mgds_env_start();
    e = import_event(sock);
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
    mgds_peer_meet(sock); /* 1: held and recorded by the exporter */
    mgds_peer_meet(sock);
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    s = mgds_free_stream();
    OK(cu.StreamWaitEvent(s, e, 0));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    mgds_peer_meet(sock); /* 2: the exporter opens its gate */
    OK(cu.EventSynchronize(e));
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
    OK(cu.EventDestroy(e));
}

static void imported_event_follows_the_exporters_record(void)
{
    struct mgds_peer peer;
    struct mgds_hwqueue gate;
    CUstream s;
    CUevent e;

    mgds_peer_start(&peer, query_importer);
    mgds_env_start();
    s = mgds_free_stream();
    gate = mgds_hwqueue_new();
    e = export_event(peer.fd);
    mgds_peer_meet(peer.fd);
    mgds_hwqueue_hold(gate, s);
    OK(cu.EventRecord(e, s));
    mgds_peer_meet(peer.fd);
    mgds_peer_meet(peer.fd);
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    mgds_peer_end(&peer);
}

static void record_importer(int sock)
{
    struct mgds_hwqueue gate;
    CUstream s;
    CUevent e;

    mgds_env_start();
    e = import_event(sock);
    s = mgds_free_stream();
    gate = mgds_hwqueue_new();
    mgds_hwqueue_hold(gate, s);
    OK(cu.EventRecord(e, s));
    mgds_peer_meet(sock); /* recorded */
    mgds_peer_meet(sock); /* the exporter has looked */
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    OK(cu.EventDestroy(e));
}

static void exported_event_follows_the_importers_record(void)
{
    struct mgds_peer peer;
    CUstream s;
    CUevent e;

    mgds_peer_start(&peer, record_importer);
    mgds_env_start();
    e = export_event(peer.fd);
    s = mgds_free_stream();
    mgds_peer_meet(peer.fd);
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    OK(cu.StreamWaitEvent(s, e, 0));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    mgds_peer_meet(peer.fd);
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
    mgds_peer_end(&peer);
}

/* What the exporter's stream did before the record is seen behind the wait. */
static void data_importer(int sock)
{
    CUipcMemHandle handle;
    CUdeviceptr at, own;
    CUstream s;
    CUevent e;

    mgds_env_start();
    e = import_event(sock);
    mgds_peer_recv(sock, &handle, sizeof(handle));
    OK(cu.IpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    own = mgds_zeroed(4);
    s = mgds_free_stream();
    mgds_peer_meet(sock); /* recorded */
    OK(cu.StreamWaitEvent(s, e, 0));
    OK(cu.MemcpyDtoDAsync(own, at, 4, s));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    mgds_peer_meet(sock); /* the wait is queued */
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(17, mgds_peek(own));
    OK(cu.IpcCloseMemHandle(at));
    OK(cu.EventDestroy(e));
    mgds_peer_meet(sock);
}

static void imported_event_orders_the_exporters_data(void)
{
    struct mgds_peer peer;
    struct mgds_hwqueue gate;
    CUipcMemHandle handle;
    CUdeviceptr at;
    CUstream s;
    CUevent e;

    mgds_peer_start(&peer, data_importer);
    mgds_env_start();
    e = export_event(peer.fd);
    at = mgds_zeroed(4 << 20);
    OK(cu.IpcGetMemHandle(&handle, at));
    mgds_peer_send(peer.fd, &handle, sizeof(handle));
    s = mgds_free_stream();
    gate = mgds_hwqueue_new();
    mgds_hwqueue_hold(gate, s);
    OK(cu.MemsetD32Async(at, 17, 1, s));
    OK(cu.EventRecord(e, s));
    mgds_peer_meet(peer.fd);
    mgds_peer_meet(peer.fd);
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void private_event_is_not_exported(void)
{
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUipcEventHandle handle;

    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.IpcGetEventHandle(&handle, e));
}

static void shared_event_works_in_its_own_process(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUevent e = mgds_event(SHARED);

    mgds_hwqueue_hold(gate, s);
    OK(cu.EventRecord(e, s));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    mgds_hwqueue_open(gate);
    OK(cu.EventSynchronize(e));
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(e));
}

static void own_event_handle_is_not_opened_by_its_exporter(void)
{
    CUevent e = mgds_event(SHARED), again;
    CUipcEventHandle handle, zero = {{0}};

    OK(cu.IpcGetEventHandle(&handle, e));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT,
              cu.IpcOpenEventHandle(&again, handle));
    /* H200, driver 580: a handle of nothing cannot be mapped. */
    EXPECT_CU(CUDA_ERROR_MAP_FAILED, cu.IpcOpenEventHandle(&again, zero));
}

/* "The imported event behaves like a locally created event with
 * CU_EVENT_DISABLE_TIMING". */
static void timing_importer(int sock)
{
    CUevent e, own;
    CUstream s;
    float ms;

    mgds_env_start();
    e = import_event(sock);
    own = mgds_event(CU_EVENT_DEFAULT);
    s = mgds_free_stream();
    OK(cu.EventRecord(own, s));
    OK(cu.EventRecord(e, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.EventElapsedTime(&ms, own, e));
    OK(cu.EventDestroy(e));
    mgds_peer_meet(sock);
}

static void imported_event_has_no_timing(void)
{
    struct mgds_peer peer;

    mgds_peer_start(&peer, timing_importer);
    mgds_env_start();
    export_event(peer.fd);
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

const struct mgds_case mgds_cases_ipcevent[] = {
    CASE(imported_event_follows_the_exporters_record, NEED_IPC | NEED_MEMOPS,
         FRESH),
    CASE(exported_event_follows_the_importers_record, NEED_IPC | NEED_MEMOPS,
         FRESH),
    CASE(imported_event_orders_the_exporters_data, NEED_IPC | NEED_MEMOPS,
         FRESH),
    CASE(private_event_is_not_exported, NEED_IPC),
    CASE(shared_event_works_in_its_own_process, NEED_IPC | NEED_MEMOPS),
    CASE(own_event_handle_is_not_opened_by_its_exporter, NEED_IPC),
    CASE(imported_event_has_no_timing, NEED_IPC, FRESH),
    CASE_END,
};
