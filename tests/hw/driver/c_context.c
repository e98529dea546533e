/* Contexts: the current one of a thread, its stack, the primary context's
 * life (Driver API, "Context Management", "Primary Context Management"). */
#include "case.h"

static CUcontext current(void)
{
    CUcontext ctx = (CUcontext)&cu;

    OK(cu.CtxGetCurrent(&ctx));
    return ctx;
}

static void bare_thread(void *arg)
{
    CUdeviceptr at;
    CUstream s;
    CUevent e;
    CUdevice device;
    CUcontext ctx;

    (void)arg;
    EXPECT(current() == NULL);
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.MemAlloc(&at, 16));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.StreamCreate(&s, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.EventCreate(&e, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.CtxSynchronize());
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.CtxGetDevice(&device));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.CtxPopCurrent(&ctx));
}

static void new_thread_has_no_current_context(void)
{
    struct mgds_task task;

    mgds_task_start_bare(&task, bare_thread, NULL);
    mgds_task_join(&task);
    EXPECT(current() == mgds_env_ctx(0));
}

struct handles {
    CUstream stream;
    CUevent event;
    CUdeviceptr word;
    uint32_t *pinned;
};

/* Calls that name a stream, an event or memory take the context from it. */
static void bare_user(void *arg)
{
    struct handles *h = arg;

    EXPECT_CU(CUDA_SUCCESS, cu.EventRecord(h->event, h->stream));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamWaitEvent(h->stream, h->event, 0));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamSynchronize(h->stream));
    EXPECT_CU(CUDA_SUCCESS, cu.EventSynchronize(h->event));
    EXPECT_CU(CUDA_SUCCESS, cu.EventQuery(h->event));
    EXPECT(current() == NULL);
}

static void handles_carry_their_context(void)
{
    struct mgds_task task;
    struct handles h = {mgds_free_stream(), mgds_event(CU_EVENT_DISABLE_TIMING),
                        0, NULL};

    mgds_task_start_bare(&task, bare_user, &h);
    mgds_task_join(&task);
}

static void bare_enqueuer(void *arg)
{
    struct handles *h = arg;

    EXPECT_CU(CUDA_SUCCESS, cu.StreamWriteValue32(h->stream, h->word, 5, 0));
    EXPECT_CU(CUDA_SUCCESS, cu.MemsetD32Async(h->word + 4, 6, 1, h->stream));
    EXPECT_CU(CUDA_SUCCESS,
              cu.MemcpyDtoHAsync(h->pinned, h->word, 8, h->stream));
    EXPECT_CU(CUDA_SUCCESS, cu.StreamSynchronize(h->stream));
    EXPECT(current() == NULL);
}

static void enqueuing_needs_no_current_context(void)
{
    struct mgds_task task;
    struct handles h = {mgds_free_stream(), NULL, mgds_zeroed(8),
                        mgds_pinned(8)};

    mgds_task_start_bare(&task, bare_enqueuer, &h);
    mgds_task_join(&task);
    EXPECT_EQ(5, h.pinned[0]);
    EXPECT_EQ(6, h.pinned[1]);
}

static void work_goes_to_the_streams_device_not_the_current_one(void)
{
    CUdeviceptr a = mgds_zeroed(8);
    CUstream s = mgds_free_stream();
    uint32_t *host = mgds_pinned(8);

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    OK(cu.MemsetD32Async(a, 7, 1, s));
    OK(cu.StreamWriteValue32(s, a + 4, 8, 0));
    OK(cu.MemcpyDtoHAsync(host, a, 8, s));
    OK(cu.StreamSynchronize(s));
    EXPECT(current() == mgds_env_ctx(1));
    EXPECT_EQ(7, host[0]);
    EXPECT_EQ(8, host[1]);
}

static void memory_is_freed_whatever_context_is_current(void)
{
    CUdeviceptr at;

    OK(cu.MemAlloc(&at, 4096));
    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    EXPECT_CU(CUDA_SUCCESS, cu.MemFree(at));
    EXPECT(current() == mgds_env_ctx(1));
}

static void contexts_are_pushed_and_popped(void)
{
    CUcontext zero = mgds_env_ctx(0), popped = NULL;

    OK(cu.CtxPushCurrent(zero));
    OK(cu.CtxSetCurrent(NULL));
    /* NULL pops the top: what was below is current. */
    EXPECT(current() == zero);
    OK(cu.CtxPopCurrent(&popped));
    EXPECT(popped == zero);
    EXPECT(current() == NULL);
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.CtxPopCurrent(&popped));
    OK(cu.CtxPushCurrent(zero));
    EXPECT(current() == zero);
}

static void set_current_replaces_the_top(void)
{
    CUcontext zero = mgds_env_ctx(0), one = mgds_env_ctx(1), popped = NULL;

    OK(cu.CtxPushCurrent(zero));
    OK(cu.CtxSetCurrent(one));
    EXPECT(current() == one);
    OK(cu.CtxPopCurrent(&popped));
    EXPECT(popped == one);
    EXPECT(current() == zero);
}

static void pushing_null_is_refused(void)
{
    /* H200, driver 580; the documents let one expect an invalid context. */
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.CtxPushCurrent(NULL));
    EXPECT(current() == mgds_env_ctx(0));
}

static void current_context_decides_the_device(void)
{
    CUdeviceptr at;
    CUdevice device = -1;
    int ordinal = -1;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    OK(cu.CtxGetDevice(&device));
    EXPECT_EQ(mgds_env_device(1), device);
    at = mgds_zeroed(64);
    OK(cu.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                              at));
    EXPECT_EQ(1, ordinal);
}

static void contexts_have_different_ids(void)
{
    unsigned long long a = 0, b = 0, now = 0;

    OK(cu.CtxGetId(mgds_env_ctx(0), &a));
    OK(cu.CtxGetId(mgds_env_ctx(1), &b));
    OK(cu.CtxGetId(NULL, &now));
    EXPECT(a != b);
    EXPECT_EQ(a, now);
}

static void primary_context_is_one(void)
{
    CUcontext again = NULL;
    unsigned flags = 9;
    int active = 0;

    OK(cu.DevicePrimaryCtxRetain(&again, mgds_env_device(0)));
    EXPECT(again == mgds_env_ctx(0));
    OK(cu.DevicePrimaryCtxRelease(mgds_env_device(0)));
    OK(cu.DevicePrimaryCtxGetState(mgds_env_device(0), &flags, &active));
    EXPECT_EQ(1, active);
    OK(cu.CtxSynchronize());
}

static void primary_context_is_inactive_until_retained(void)
{
    CUcontext ctx = NULL;
    CUdevice device;
    unsigned flags = 9;
    int active = 9;

    OK(cu.Init(0));
    OK(cu.DeviceGet(&device, 0));
    OK(cu.DevicePrimaryCtxGetState(device, &flags, &active));
    EXPECT_EQ(0, active);
    EXPECT(current() == NULL);
    OK(cu.DevicePrimaryCtxRetain(&ctx, device));
    /* Retain does not make it current. */
    EXPECT(current() == NULL);
    OK(cu.DevicePrimaryCtxGetState(device, &flags, &active));
    EXPECT_EQ(1, active);
    OK(cu.DevicePrimaryCtxRelease(device));
    OK(cu.DevicePrimaryCtxGetState(device, &flags, &active));
    EXPECT_EQ(0, active);
}

static void release_without_retain_is_refused(void)
{
    CUdevice device;

    OK(cu.Init(0));
    OK(cu.DeviceGet(&device, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.DevicePrimaryCtxRelease(device));
}

/* After the last release the context is destroyed: its memory is gone and
 * the handle, though current, is of no use. */
static void last_release_destroys_the_primary_context(void)
{
    CUdeviceptr at, other;
    uint32_t type = 0;

    OK(cu.MemAlloc(&at, 4096));
    OK(cu.DevicePrimaryCtxRelease(mgds_env_device(0)));
    EXPECT_CU(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.MemAlloc(&other, 4096));
    EXPECT_CU(
        CUDA_ERROR_INVALID_VALUE,
        cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
}

static void primary_context_works_again_after_its_end(void)
{
    CUcontext ctx = NULL;
    CUdeviceptr at;

    OK(cu.DevicePrimaryCtxRelease(mgds_env_device(0)));
    OK(cu.DevicePrimaryCtxRetain(&ctx, mgds_env_device(0)));
    OK(cu.CtxSetCurrent(ctx));
    OK(cu.MemAlloc(&at, 4096));
    OK(cu.MemsetD8(at, 1, 4096));
    OK(cu.CtxSynchronize());
    OK(cu.MemFree(at));
}

static void reset_frees_what_the_primary_context_held(void)
{
    CUdeviceptr at, other;
    uint32_t type = 0;
    unsigned flags;
    int active = 9;

    OK(cu.MemAlloc(&at, 4096));
    OK(cu.DevicePrimaryCtxReset(mgds_env_device(0)));
    EXPECT_CU(
        CUDA_ERROR_INVALID_VALUE,
        cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    OK(cu.DevicePrimaryCtxGetState(mgds_env_device(0), &flags, &active));
    EXPECT_EQ(0, active);
    EXPECT_CU(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.MemAlloc(&other, 4096));
}

const struct mgds_case mgds_cases_context[] = {
    CASE(new_thread_has_no_current_context),
    CASE(handles_carry_their_context),
    CASE(enqueuing_needs_no_current_context, NEED_MEMOPS),
    CASE(work_goes_to_the_streams_device_not_the_current_one,
         NEED_2DEV | NEED_MEMOPS),
    CASE(memory_is_freed_whatever_context_is_current, NEED_2DEV),
    CASE(contexts_are_pushed_and_popped),
    CASE(set_current_replaces_the_top, NEED_2DEV),
    CASE(pushing_null_is_refused),
    CASE(current_context_decides_the_device, NEED_2DEV),
    CASE(contexts_have_different_ids, NEED_2DEV),
    CASE(primary_context_is_one),
    CASE(primary_context_is_inactive_until_retained, 0, FRESH),
    CASE(release_without_retain_is_refused, 0, FRESH),
    CASE(last_release_destroys_the_primary_context, 0, ALONE),
    CASE(primary_context_works_again_after_its_end, 0, ALONE),
    CASE(reset_frees_what_the_primary_context_held, 0, ALONE),
    CASE_END,
};
