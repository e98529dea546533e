/* Host functions in streams: order, arguments, what they may not do (Driver
 * API, cuLaunchHostFunc and cuStreamAddCallback). */
#include <semaphore.h>
#include <stdatomic.h>

#include "case.h"

struct note {
    atomic_int *turn;
    int saw;
    pthread_t thread;
};

static void CUDA_CB take_turn(void *arg)
{
    struct note *n = arg;

    n->saw = atomic_fetch_add(n->turn, 1);
    n->thread = pthread_self();
}

static void host_functions_run_in_stream_order(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    atomic_int turn = 0;
    struct note notes[8];

    mgds_hwqueue_hold(gate, s);
    for (int i = 0; i < 8; i++) {
        notes[i] = (struct note){.turn = &turn, .saw = -1};
        OK(cu.LaunchHostFunc(s, take_turn, &notes[i]));
    }
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&turn));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    for (int i = 0; i < 8; i++)
        EXPECT_EQ(i, notes[i].saw);
    EXPECT(!pthread_equal(notes[0].thread, pthread_self()));
}

struct look {
    uint32_t *pinned;
    uint32_t seen;
};

static void CUDA_CB look_at(void *arg)
{
    struct look *l = arg;

    l->seen = *l->pinned;
    *l->pinned = 99;
}

static void host_function_sees_the_copy_before_it(void)
{
    CUstream s = mgds_free_stream();
    struct look l = {mgds_pinned(4), 0};
    CUdeviceptr word = mgds_zeroed(4), after = mgds_zeroed(4);

    OK(cu.MemsetD32Async(word, 4, 1, s));
    OK(cu.MemcpyDtoHAsync(l.pinned, word, 4, s));
    OK(cu.LaunchHostFunc(s, look_at, &l));
    OK(cu.MemcpyHtoDAsync(after, l.pinned, 4, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(4, l.seen);
    EXPECT_EQ(99, mgds_peek(after));
}

static void CUDA_CB wait_for_post(void *arg)
{
    sem_wait(arg);
}

static void stream_waits_for_its_host_function(void)
{
    CUstream s = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUdeviceptr word = mgds_zeroed(4);
    sem_t post;

    sem_init(&post, 0, 0);
    OK(cu.LaunchHostFunc(s, wait_for_post, &post));
    OK(cu.MemsetD32Async(word, 1, 1, s));
    OK(cu.EventRecord(e, s));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.EventQuery(e));
    EXPECT_EQ(0, mgds_peek(word));
    sem_post(&post);
    OK(cu.EventSynchronize(e));
    EXPECT_EQ(1, mgds_peek(word));
    OK(cu.StreamSynchronize(s));
    sem_destroy(&post);
}

/* "Using the CUDA API in a host function may result in
 * CUDA_ERROR_NOT_PERMITTED". H200, driver 580: an allocation does, a look at
 * an idle stream does not. */
struct calls {
    CUstream stream;
    int alloc, query, sync;
};

static void CUDA_CB make_calls(void *arg)
{
    struct calls *c = arg;
    CUdeviceptr at;

    c->alloc = (int)cu.MemAlloc(&at, 16);
    c->query = (int)cu.StreamQuery(c->stream);
    c->sync = (int)cu.StreamSynchronize(c->stream);
}

static void host_function_may_not_allocate(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    struct calls c = {other, -1, -1, -1};

    OK(cu.LaunchHostFunc(s, make_calls, &c));
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_ERROR_NOT_PERMITTED, c.alloc);
    EXPECT_CU(CUDA_SUCCESS, c.query);
    EXPECT_CU(CUDA_SUCCESS, c.sync);
}

static void host_function_orders_across_streams_by_events(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent e = mgds_event(CU_EVENT_DISABLE_TIMING);
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    atomic_int turn = 0;
    struct note first = {.turn = &turn, .saw = -1};
    struct note second = {.turn = &turn, .saw = -1};

    mgds_hwqueue_hold(gate, a);
    OK(cu.LaunchHostFunc(a, take_turn, &first));
    OK(cu.EventRecord(e, a));
    OK(cu.StreamWaitEvent(b, e, 0));
    OK(cu.LaunchHostFunc(b, take_turn, &second));
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&turn));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(b));
    EXPECT_EQ(0, first.saw);
    EXPECT_EQ(1, second.saw);
}

struct reply {
    CUstream stream;
    CUresult status;
    atomic_int calls;
};

static void CUDA_CB reply(CUstream stream, CUresult status, void *arg)
{
    struct reply *r = arg;

    r->stream = stream;
    r->status = status;
    atomic_fetch_add(&r->calls, 1);
}

static void callback_gets_its_stream_and_the_status(void)
{
    CUstream s = mgds_free_stream();
    struct reply r = {NULL, CUDA_ERROR_UNKNOWN, 0};

    OK(cu.StreamAddCallback(s, reply, &r, 0));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, atomic_load(&r.calls));
    EXPECT(r.stream == s);
    EXPECT_CU(CUDA_SUCCESS, r.status);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.StreamAddCallback(s, reply, &r, 1));
}

static void missing_host_function_is_refused(void)
{
    CUstream s = mgds_free_stream();

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.LaunchHostFunc(s, NULL, NULL));
    OK(cu.StreamSynchronize(s));
}

static void CUDA_CB open_gate(void *arg)
{
    struct mgds_hwqueue *gate = arg;

    mgds_hwqueue_open(*gate);
}

/* The host function of one stream releases another that stands in a wait. */
static void host_function_may_release_another_stream(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr word = mgds_zeroed(4);

    mgds_hwqueue_hold(gate, a);
    OK(cu.MemsetD32Async(word, 2, 1, a));
    OK(cu.LaunchHostFunc(b, open_gate, &gate));
    OK(cu.StreamSynchronize(a));
    OK(cu.StreamSynchronize(b));
    EXPECT_EQ(2, mgds_peek(word));
}

const struct mgds_case mgds_cases_hostfn[] = {
    CASE(host_functions_run_in_stream_order, NEED_MEMOPS),
    CASE(host_function_sees_the_copy_before_it),
    CASE(stream_waits_for_its_host_function),
    CASE(host_function_may_not_allocate, 0, ALONE),
    CASE(host_function_orders_across_streams_by_events, NEED_MEMOPS),
    CASE(callback_gets_its_stream_and_the_status),
    CASE(missing_host_function_is_refused),
    CASE(host_function_may_release_another_stream, NEED_MEMOPS),
    CASE_END,
};
