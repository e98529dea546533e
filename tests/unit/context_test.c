/* Tests of shim/gds/cuda/context.c and stream.c: which context work belongs
 * to, that ends are noticed, that the caller's stack is left as it was. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <cmocka.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/stream.h"
#include "tests/lib/fault_sweep.h"
#include "tests/unit/fake_cuda.h"

static struct fake_cuda *fake;

static CUcontext here = (CUcontext)(uintptr_t)0xc0de;
static CUcontext there = (CUcontext)(uintptr_t)0xd0de;
static CUcontext callers = (CUcontext)(uintptr_t)0xe0de;

static int load(void **state)
{
    (void)state;
    fake = fake_cuda_load();
    return 0;
}

/* here on device 0, there on device 1, the caller's current one on 0. */
static int reset(void **state)
{
    (void)state;
    mgds_context_fini();
    fake_cuda_reset(fake);
    fake->devices = 2;
    fake->contexts[0] = (struct fake_context){here, 7, 0};
    fake->contexts[1] = (struct fake_context){there, 8, 1};
    fake->contexts[2] = (struct fake_context){callers, 9, 0};
    fake_cuda_set_top(callers);
    return 0;
}

/* What every test must leave: the caller's stack, and no hold on a primary. */
static int check_left(void **state)
{
    (void)state;
    assert_ptr_equal(fake_cuda_top(), callers);
    assert_int_equal(fake_cuda_depth(), 1);
    assert_int_equal(fake->primary_held, 0);
    mgds_context_fini();
    return 0;
}

static struct mgds_ptr owned(CUcontext ctx, uint64_t id)
{
    return (struct mgds_ptr){
        .kind = MGDS_PTR_DEVICE, .device = 0, .ctx = ctx, .ctx_id = id};
}

static struct mgds_ptr ownerless(int device)
{
    return (struct mgds_ptr){.kind = MGDS_PTR_POOL, .device = device};
}

static struct mgds_context *context_of(struct mgds_ptr ptr)
{
    struct mgds_context *ctx = NULL;

    assert_int_equal(mgds_context_of_ptr(&ctx, &ptr), 0);
    return ctx;
}

static void memory_names_its_context(void **state)
{
    struct mgds_context *first = context_of(owned(here, 7));
    struct mgds_context *again = context_of(owned(here, 7));

    (void)state;
    assert_ptr_equal(first, again);
    assert_ptr_equal(first->handle, here);
    assert_true(mgds_context_lives(first));
    mgds_context_put(first);
    mgds_context_put(again);
}

static void ownerless_memory_runs_in_the_active_primary(void **state)
{
    struct mgds_context *ctx;

    (void)state;
    fake->primary = there;
    ctx = context_of(ownerless(1));
    assert_ptr_equal(ctx->handle, there);
    assert_int_equal(ctx->id, 8);
    assert_int_equal(ctx->device, 1);
    mgds_context_put(ctx);
}

static void ownerless_memory_may_run_in_the_callers_context(void **state)
{
    struct mgds_context *ctx = context_of(ownerless(0));

    (void)state;
    assert_ptr_equal(ctx->handle, callers);
    mgds_context_put(ctx);
}

static void no_context_is_made_where_none_is_active(void **state)
{
    struct mgds_context *ctx = NULL;
    struct mgds_ptr elsewhere = ownerless(1), nowhere = ownerless(2);
    struct mgds_ptr host = {.kind = MGDS_PTR_HOST, .device = -1};

    (void)state;
    assert_int_equal(mgds_context_of_ptr(&ctx, &elsewhere), -ENODEV);
    assert_int_equal(mgds_context_of_ptr(&ctx, &nowhere), -ENODEV);
    assert_int_equal(mgds_context_of_ptr(&ctx, &host), -EINVAL);
    fake_cuda_set_top(NULL);
    elsewhere.device = 0;
    assert_int_equal(mgds_context_of_ptr(&ctx, &elsewhere), -ENODEV);
    assert_null(ctx);
    fake_cuda_set_top(callers);
}

static void stream_names_its_context(void **state)
{
    struct mgds_context *ctx = NULL;

    (void)state;
    assert_int_equal(mgds_context_of_stream(&ctx, (CUstream)0x1000), 0);
    assert_ptr_equal(ctx->handle, callers);
    mgds_context_put(ctx);
    fake_cuda_set_top(NULL);
    ctx = NULL;
    assert_int_equal(mgds_context_of_stream(&ctx, NULL), -ESHUTDOWN);
    assert_null(ctx);
    fake_cuda_set_top(callers);
}

static void handle_used_again_is_another_context(void **state)
{
    struct mgds_context *old = context_of(owned(here, 7)), *new;

    (void)state;
    fake->contexts[0].id = 17;
    assert_false(mgds_context_lives(old));
    new = context_of(owned(here, 17));
    assert_ptr_not_equal(new, old);
    assert_int_equal(new->id, 17);
    assert_true(mgds_context_lives(new));
    mgds_context_put(old);
    mgds_context_put(new);
}

static void enter_and_leave_nest_over_the_callers_context(void **state)
{
    struct mgds_context *first = context_of(owned(here, 7));
    struct mgds_context *second = context_of(owned(there, 8));

    (void)state;
    assert_int_equal(mgds_context_enter(first), 0);
    assert_ptr_equal(fake_cuda_top(), here);
    assert_int_equal(mgds_context_enter(second), 0);
    assert_ptr_equal(fake_cuda_top(), there);
    mgds_context_leave();
    assert_ptr_equal(fake_cuda_top(), here);
    mgds_context_leave();
    mgds_context_put(first);
    mgds_context_put(second);
}

static void context_that_is_gone_cannot_be_entered(void **state)
{
    struct mgds_context *ctx = context_of(owned(here, 7));
    void *stream = NULL;

    (void)state;
    fake->contexts[0].handle = NULL;
    assert_int_equal(mgds_context_enter(ctx), -ESHUTDOWN);
    assert_int_equal(mgds_stream_own(&stream, ctx), -ESHUTDOWN);
    assert_null(stream);
    assert_false(mgds_context_lives(ctx));
    mgds_context_put(ctx);
}

static int get_and_put(void *arg)
{
    struct mgds_ptr ptr = owned(here, 7);
    struct mgds_context *ctx;
    int rc = mgds_context_of_ptr(&ctx, &ptr);

    (void)arg;
    if (rc == 0)
        mgds_context_put(ctx);
    else
        assert_int_equal(rc, -ENOMEM);
    mgds_context_fini();
    return rc;
}

static void shortage_of_memory_is_an_error_and_no_leak(void **state)
{
    (void)state;
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, get_and_put, NULL) > 0);
}

enum { THREADS = 8 };
static pthread_barrier_t together;

struct finding {
    struct mgds_context *ctx;
    void *stream;
    unsigned depth;
};

static void *find(void *arg)
{
    struct finding *finding = arg;
    struct mgds_ptr ptr = owned(here, 7);

    pthread_barrier_wait(&together);
    if (mgds_context_of_ptr(&finding->ctx, &ptr) == 0)
        mgds_stream_own(&finding->stream, finding->ctx);
    finding->depth = fake_cuda_depth();
    return NULL;
}

static void threads_that_come_together_share_one_stream(void **state)
{
    struct finding found[THREADS] = {{0}};
    pthread_t threads[THREADS];

    (void)state;
    assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find, &found[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_non_null(found[i].stream);
        assert_ptr_equal(found[i].ctx, found[0].ctx);
        assert_ptr_equal(found[i].stream, found[0].stream);
        assert_int_equal(found[i].depth, 0);
        mgds_context_put(found[i].ctx);
    }
    assert_int_equal(fake->streams_made, fake->streams_destroyed + 1);
    pthread_barrier_destroy(&together);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, reset, check_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(memory_names_its_context),
        CASE(ownerless_memory_runs_in_the_active_primary),
        CASE(ownerless_memory_may_run_in_the_callers_context),
        CASE(no_context_is_made_where_none_is_active),
        CASE(stream_names_its_context),
        CASE(handle_used_again_is_another_context),
        CASE(enter_and_leave_nest_over_the_callers_context),
        CASE(context_that_is_gone_cannot_be_entered),
        CASE(shortage_of_memory_is_an_error_and_no_leak),
        CASE(threads_that_come_together_share_one_stream),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
