/* Which calls wait for the device while a memory operation stands unmet in
 * some stream, and which return at once (measured on two H200: the design
 * forbids the former wherever a wait depends on them). The held stream is a
 * non-blocking one throughout. */
#include <stdlib.h>

#include "case.h"
#include "clock.h"

struct stuff {
    CUdeviceptr at, to;
    void *host;
    size_t bytes;
    CUstream stream;
    CUcontext ctx;
};

/* One call with a stream held elsewhere; it must not wait. */
static void expect_free(const char *what, void (*call)(void *),
                        struct stuff *stuff)
{
    CUstream held = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, held);
    mgds_expect_returns(gate, what, call, stuff);
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(held));
}

/* The opposite. */
static void expect_waits(const char *what, void (*call)(void *),
                         struct stuff *stuff)
{
    CUstream held = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_hwqueue_hold(gate, held);
    mgds_expect_blocked(gate, what, call, stuff);
    OK(cu.StreamSynchronize(held));
}

static void call_free(void *arg)
{
    OK(cu.MemFree(((struct stuff *)arg)->at));
}

static void free_waits_for_the_device(void)
{
    struct stuff stuff = {0};

    OK(cu.MemAlloc(&stuff.at, 1 << 20));
    expect_waits("cuMemFree", call_free, &stuff);
}

static void call_free_host(void *arg)
{
    OK(cu.MemFreeHost(((struct stuff *)arg)->host));
}

static void free_of_pinned_memory_waits_for_the_device(void)
{
    struct stuff stuff = {0};

    OK(cu.MemHostAlloc(&stuff.host, 1 << 16, 0));
    expect_waits("cuMemFreeHost", call_free_host, &stuff);
}

static void call_unregister(void *arg)
{
    OK(cu.MemHostUnregister(((struct stuff *)arg)->host));
}

static void unregistering_waits_for_the_device(void)
{
    struct stuff stuff = {.host = aligned_alloc(4096, 1 << 16)};

    OK(cu.MemHostRegister(stuff.host, 1 << 16, 0));
    expect_waits("cuMemHostUnregister", call_unregister, &stuff);
    free(stuff.host);
}

static void call_alloc(void *arg)
{
    struct stuff *s = arg;

    OK(cu.MemAlloc(&s->at, 1 << 20));
    OK(cu.MemHostAlloc(&s->host, 1 << 16, 0));
}

static void allocation_does_not_wait_for_the_device(void)
{
    struct stuff stuff = {0};

    expect_free("cuMemAlloc and cuMemHostAlloc", call_alloc, &stuff);
    OK(cu.MemFree(stuff.at));
    OK(cu.MemFreeHost(stuff.host));
}

static void call_alloc_async(void *arg)
{
    struct stuff *s = arg;

    OK(cu.MemAllocAsync(&s->at, 1 << 20, s->stream));
    OK(cu.MemsetD8Async(s->at, 1, 1 << 20, s->stream));
    OK(cu.MemFreeAsync(s->at, s->stream));
    OK(cu.StreamSynchronize(s->stream));
}

static void stream_ordered_allocation_does_not_wait_for_other_streams(void)
{
    struct stuff stuff = {.stream = mgds_free_stream()};

    expect_free("cuMemAllocAsync, cuMemFreeAsync", call_alloc_async, &stuff);
}

static void call_register(void *arg)
{
    OK(cu.MemHostRegister(((struct stuff *)arg)->host, 1 << 16, 0));
}

static void registering_does_not_wait_for_the_device(void)
{
    struct stuff stuff = {.host = aligned_alloc(4096, 1 << 16)};

    expect_free("cuMemHostRegister", call_register, &stuff);
    OK(cu.MemHostUnregister(stuff.host));
    free(stuff.host);
}

static void call_pointer_query(void *arg)
{
    struct stuff *s = arg;
    uint32_t type = 0;
    CUdeviceptr base;
    size_t size;

    OK(cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, s->at));
    OK(cu.MemGetAddressRange(&base, &size, s->at));
    OK(cu.MemGetInfo(&size, &s->bytes));
}

static void pointer_query_does_not_wait_for_the_device(void)
{
    struct stuff stuff = {.at = mgds_zeroed(64)};

    expect_free("cuPointerGetAttribute", call_pointer_query, &stuff);
}

static void call_stream_life(void *arg)
{
    CUstream s;

    (void)arg;
    OK(cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamQuery(s));
    OK(cu.StreamDestroy(s));
}

static void stream_life_does_not_wait_for_the_device(void)
{
    expect_free("cuStreamCreate and cuStreamDestroy", call_stream_life, NULL);
}

static void call_event_life(void *arg)
{
    struct stuff *s = arg;
    CUevent e;

    OK(cu.EventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cu.EventRecord(e, s->stream));
    OK(cu.EventSynchronize(e));
    OK(cu.EventDestroy(e));
}

static void event_life_does_not_wait_for_the_device(void)
{
    struct stuff stuff = {.stream = mgds_free_stream()};

    expect_free("cuEventCreate to cuEventDestroy", call_event_life, &stuff);
}

static void call_copies(void *arg)
{
    struct stuff *s = arg;
    uint32_t pageable[256] = {0};

    OK(cu.MemcpyDtoDAsync(s->to, s->at, 1024, s->stream));
    OK(cu.MemcpyHtoDAsync(s->to, s->host, 1024, s->stream));
    OK(cu.MemcpyDtoHAsync(s->host, s->to, 1024, s->stream));
    OK(cu.MemcpyHtoDAsync(s->to, pageable, 1024, s->stream));
    OK(cu.MemcpyDtoHAsync(pageable, s->to, 1024, s->stream));
    OK(cu.StreamSynchronize(s->stream));
    OK(cu.MemcpyDtoH(pageable, s->to, 1024));
}

static void copies_on_other_streams_do_not_wait(void)
{
    struct stuff stuff = {.stream = mgds_free_stream(),
                          .at = mgds_zeroed(1024),
                          .to = mgds_zeroed(1024),
                          .host = mgds_pinned(1024)};

    expect_free("copies on another stream", call_copies, &stuff);
}

static void call_graph_life(void *arg)
{
    struct stuff *s = arg;
    CUgraph graph;
    CUgraphExec exec;

    OK(cu.StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cu.MemsetD32Async(s->at, 1, 4, s->stream));
    OK(cu.StreamEndCapture(s->stream, &graph));
    OK(cu.GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.GraphLaunch(exec, s->stream));
    OK(cu.StreamSynchronize(s->stream));
    OK(cu.GraphExecDestroy(exec));
    OK(cu.GraphDestroy(graph));
}

static void graph_life_does_not_wait_for_the_device(void)
{
    struct stuff stuff = {.stream = mgds_free_stream(), .at = mgds_zeroed(64)};

    expect_free("capture to cuGraphExecDestroy", call_graph_life, &stuff);
    EXPECT_EQ(1, mgds_peek(stuff.at));
}

static void call_peer_copy(void *arg)
{
    struct stuff *s = arg;

    OK(cu.MemcpyDtoDAsync(s->to, s->at, 1024, s->stream));
    OK(cu.StreamSynchronize(s->stream));
}

static void copy_to_the_peer_does_not_wait_for_other_streams(void)
{
    struct stuff stuff = {.stream = mgds_free_stream(),
                          .at = mgds_zeroed(1024)};

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    stuff.to = mgds_zeroed(1024);
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    expect_free("a copy to the peer", call_peer_copy, &stuff);
}

static void call_ipc_export(void *arg)
{
    struct stuff *s = arg;
    CUipcMemHandle handle;

    OK(cu.IpcGetMemHandle(&handle, s->at));
}

static void memory_export_does_not_wait_for_the_device(void)
{
    struct stuff stuff = {.at = mgds_zeroed(1 << 20)};

    expect_free("cuIpcGetMemHandle", call_ipc_export, &stuff);
}

static void call_context_life(void *arg)
{
    CUcontext ctx;

    (void)arg;
    OK(cu.DevicePrimaryCtxRetain(&ctx, mgds_env_device(0)));
    OK(cu.CtxPushCurrent(ctx));
    OK(cu.CtxPopCurrent(&ctx));
    OK(cu.DevicePrimaryCtxRelease(mgds_env_device(0)));
}

static void current_context_changes_without_waiting(void)
{
    expect_free("retain, push, pop, release", call_context_life, NULL);
}

static void call_memops(void *arg)
{
    struct stuff *s = arg;

    for (uint32_t i = 1; i <= 100; i++) {
        OK(cu.StreamWriteValue32(s->stream, s->at, i, 0));
        OK(cu.StreamWaitValue32(s->stream, s->at, i, CU_STREAM_WAIT_VALUE_EQ));
    }
    OK(cu.StreamSynchronize(s->stream));
}

static void memory_operations_on_other_streams_do_not_wait(void)
{
    struct stuff stuff = {.stream = mgds_free_stream(), .at = mgds_zeroed(64)};

    expect_free("memory operations on another stream", call_memops, &stuff);
}

/* Measured: while one thread sits in a call that waits for the device, every
 * CUDA call of every other thread on that device waits too. */
static void call_set(void *arg)
{
    struct stuff *s = arg;

    OK(cu.MemsetD32Async(s->to, 3, 1, s->stream));
    OK(cu.StreamSynchronize(s->stream));
}

/* Nobody sees from outside when the free's thread has come into the driver:
 * a set that returned was before it, and the next one is asked. */
static bool some_set_is_held_up(struct mgds_task *other, struct stuff *stuff)
{
    double until = mgds_now_ms() + MGDS_STUCK_MS;

    for (;;) {
        mgds_task_start_in(other, call_set, stuff, stuff->ctx);
        if (!mgds_task_ended_within(other, mgds_blocked_ms))
            return true;
        if (mgds_now_ms() > until)
            return false;
        mgds_task_join(other);
    }
}

/* Another thread's set while a free waits for device 0. The set's context is
 * set by its thread, not asked of this one, which would wait as well. */
static void set_behind_a_free(struct stuff *stuff, bool held_up)
{
    CUstream held = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    struct stuff freed = {0};
    struct mgds_task sitter, other;

    OK(cu.MemAlloc(&freed.at, 1 << 20));
    mgds_hwqueue_hold(gate, held);
    mgds_task_start(&sitter, call_free, &freed);
    EXPECT(!mgds_task_ended_within(&sitter, mgds_blocked_ms));
    if (held_up) {
        EXPECT(some_set_is_held_up(&other, stuff));
    } else {
        mgds_task_start_in(&other, call_set, stuff, stuff->ctx);
        EXPECT(mgds_task_ended_within(&other, MGDS_STUCK_MS));
    }
    mgds_hwqueue_open(gate);
    mgds_task_join(&sitter);
    mgds_task_join(&other);
    OK(cu.StreamSynchronize(held));
    EXPECT_EQ(3, mgds_peek(stuff->to));
}

static void waiting_free_holds_up_other_threads(void)
{
    struct stuff stuff = {.stream = mgds_free_stream(),
                          .to = mgds_zeroed(4),
                          .ctx = mgds_env_ctx(0)};

    set_behind_a_free(&stuff, true);
}

/* H200, driver 580: what it keeps out is calls on its own device. */
static void waiting_free_does_not_hold_up_another_device(void)
{
    struct stuff stuff = {.ctx = mgds_env_ctx(1)};

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    stuff.stream = mgds_free_stream();
    stuff.to = mgds_zeroed(4);
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    set_behind_a_free(&stuff, false);
}

/* A stream's launch queue is finite: about 1020 entries (H200, driver 580);
 * the call that finds it full waits until the stream moves. */
struct filler {
    struct stuff stuff;
    unsigned calls;
};

static void fill_queue(void *arg)
{
    struct filler *f = arg;

    for (unsigned i = 0; i < 5000; i++) {
        OK(cu.MemsetD32Async(f->stuff.at, i, 1, f->stuff.stream));
        __atomic_store_n(&f->calls, i + 1, __ATOMIC_SEQ_CST);
    }
}

static void enqueuing_waits_when_the_queue_is_full(void)
{
    struct filler f = {{.at = mgds_zeroed(4), .stream = mgds_free_stream()}, 0};
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    struct mgds_task task;
    unsigned before, now = 0;
    double until = mgds_now_ms() + MGDS_STUCK_MS;

    mgds_hwqueue_hold(gate, f.stuff.stream);
    mgds_task_start(&task, fill_queue, &f);
    do { /* a thread that stands still may just have no core */
        before = now;
        if (mgds_task_ended_within(&task, 250))
            break;
        now = __atomic_load_n(&f.calls, __ATOMIC_SEQ_CST);
    } while (now != before || (now < 500 && mgds_now_ms() < until));
    mgds_case_note("the queue took %u entries", now);
    EXPECT(now >= 500 && now < 5000);
    mgds_hwqueue_open(gate);
    mgds_task_join(&task);
    OK(cu.StreamSynchronize(f.stuff.stream));
    EXPECT_EQ(4999, mgds_peek(f.stuff.at));
}

static void full_queue_does_not_stop_other_streams(void)
{
    struct filler f = {{.at = mgds_zeroed(4), .stream = mgds_free_stream()}, 0};
    struct stuff other = {.stream = mgds_free_stream(), .at = mgds_zeroed(64)};
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    struct mgds_task task;

    mgds_hwqueue_hold(gate, f.stuff.stream);
    mgds_task_start(&task, fill_queue, &f);
    EXPECT(!mgds_task_ended_within(&task, 500));
    mgds_expect_returns(gate, "work on another stream", call_memops, &other);
    mgds_hwqueue_open(gate);
    mgds_task_join(&task);
    OK(cu.StreamSynchronize(f.stuff.stream));
}

const struct mgds_case mgds_cases_block[] = {
    CASE(free_waits_for_the_device, NEED_MEMOPS),
    CASE(free_of_pinned_memory_waits_for_the_device, NEED_MEMOPS),
    CASE(unregistering_waits_for_the_device, NEED_MEMOPS),
    CASE(waiting_free_holds_up_other_threads, NEED_MEMOPS),
    CASE(waiting_free_does_not_hold_up_another_device, NEED_MEMOPS | NEED_2DEV),
    CASE(allocation_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE(stream_ordered_allocation_does_not_wait_for_other_streams,
         NEED_MEMOPS | NEED_POOLS),
    CASE(registering_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE(pointer_query_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE(stream_life_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE(event_life_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE(copies_on_other_streams_do_not_wait, NEED_MEMOPS),
    CASE(graph_life_does_not_wait_for_the_device, NEED_MEMOPS),
    CASE(copy_to_the_peer_does_not_wait_for_other_streams,
         NEED_MEMOPS | NEED_PEER),
    CASE(memory_export_does_not_wait_for_the_device, NEED_MEMOPS | NEED_IPC),
    CASE(current_context_changes_without_waiting, NEED_MEMOPS),
    CASE(memory_operations_on_other_streams_do_not_wait, NEED_MEMOPS),
    CASE(enqueuing_waits_when_the_queue_is_full, NEED_MEMOPS, 0, 60),
    CASE(full_queue_does_not_stop_other_streams, NEED_MEMOPS, 0, 60),
    CASE_END,
};
