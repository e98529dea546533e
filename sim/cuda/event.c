/* Events: objects, records, waits. */
#include "sim/cuda/event.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/stream.h"

CUresult mgds_event_find(CUevent handle, struct mgds_gpu_event **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_EVENT, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = (struct mgds_gpu_event *)(void *)handle;
    return CUDA_SUCCESS;
}

struct mgds_gpu_event *mgds_event_new(struct mgds_gpu_ctx *ctx, unsigned flags)
{
    struct mgds_gpu_event *event = mgds_gpu_calloc(1, sizeof(*event));

    event->refs = 1;
    event->flags = flags;
    event->ctx = ctx;
    event->fd = -1;
    mgds_handle_add(MGDS_HANDLE_EVENT, event);
    return event;
}

void mgds_event_get(struct mgds_gpu_event *event)
{
    event->refs++;
}

void mgds_event_put(struct mgds_gpu_event *event)
{
    if (--event->refs)
        return;
    if (event->mark)
        mgds_fence_put(event->mark);
    if (event->page)
        munmap(event->page, sizeof(*event->page));
    if (event->fd >= 0)
        close(event->fd);
    free(event->front);
    free(event);
}

void mgds_fence_put(struct mgds_gpu_mark *mark)
{
    if (--mark->refs)
        return;
    pthread_cond_destroy(&mark->reached);
    free(mark);
}

static struct mgds_gpu_mark *mark_new(void)
{
    struct mgds_gpu_mark *mark = mgds_gpu_calloc(1, sizeof(*mark));

    mark->refs = 1;
    pthread_cond_init(&mark->reached, NULL);
    return mark;
}

/* A record: from now on this mark is what the event stands for. Returns the
 * reference of whoever reaches it. */
static struct mgds_gpu_mark *event_remark(struct mgds_gpu_event *event)
{
    struct mgds_gpu_mark *mark = mark_new();

    if (event->mark)
        mgds_fence_put(event->mark);
    event->mark = mark;
    mark->refs++;
    return mark;
}

struct mgds_gpu_op *mgds_event_node_op(enum mgds_op_kind kind,
                                       struct mgds_gpu_event *event,
                                       struct mgds_gpu_ctx *ctx)
{
    struct mgds_gpu_op *op = mgds_op_new(kind, ctx, NULL, 0);

    mgds_event_get(event);
    op->u.event.event = event;
    return op;
}

struct mgds_op_event mgds_event_record(struct mgds_gpu_event *event)
{
    struct mgds_op_event record = {event, event_remark(event), 0};

    if (event->page)
        record.number = atomic_fetch_add(&event->page->called, 1) + 1;
    return record;
}

struct mgds_gpu_op *mgds_event_record_op(struct mgds_gpu_event *event,
                                         struct mgds_gpu_ctx *ctx)
{
    struct mgds_gpu_op *op = mgds_event_node_op(MGDS_OP_RECORD, event, ctx);

    op->u.event = mgds_event_record(event);
    return op;
}

struct mgds_gpu_op *mgds_event_wait_op(struct mgds_gpu_event *event,
                                       struct mgds_gpu_ctx *ctx)
{
    struct mgds_gpu_op *op;
    uint64_t number = event->page ? atomic_load(&event->page->called) : 0;

    if (event->page ? number == 0 : !event->mark || event->mark->done)
        return NULL;
    op = mgds_event_node_op(MGDS_OP_WAIT, event, ctx);
    if (event->page) {
        op->u.event.number = number;
    } else {
        op->u.event.mark = event->mark;
        event->mark->refs++;
    }
    return op;
}

static void reach(struct mgds_op_event *record)
{
    struct mgds_event_page *page = record->event->page;
    uint64_t seen;

    record->mark->done = true;
    record->mark->time = mgds_gpu_now();
    pthread_cond_broadcast(&record->mark->reached);
    if (!page)
        return;
    seen = atomic_load(&page->reached);
    while (seen < record->number &&
           !atomic_compare_exchange_weak(&page->reached, &seen, record->number))
        ;
}

void mgds_record_reach(struct mgds_gpu_op *op)
{
    reach(&op->u.event);
}

CUresult mgds_record_run(struct mgds_gpu_op *op)
{
    pthread_mutex_lock(&mgds_gpu.lock);
    reach(&op->u.event);
    pthread_mutex_unlock(&mgds_gpu.lock);
    return CUDA_SUCCESS;
}

/* Another process reaches it: there is nobody to wake us. */
static void await_page(const struct mgds_event_page *page, uint64_t number)
{
    uint64_t nap = 0;

    while (atomic_load(&page->reached) < number && !mgds_gpu_lost())
        mgds_gpu_doze(&nap);
}

static void await_mark(struct mgds_gpu_mark *mark)
{
    mark->refs++;
    while (!mark->done)
        pthread_cond_wait(&mark->reached, &mgds_gpu.lock);
    mgds_fence_put(mark);
}

CUresult mgds_await_run(struct mgds_gpu_op *op)
{
    struct mgds_gpu_event *event = op->u.event.event;
    uint64_t number = op->u.event.number;

    if (event->page) {
        if (!number)
            number = atomic_load(&event->page->called);
        await_page(event->page, number);
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&mgds_gpu.lock);
    if (op->u.event.mark)
        await_mark(op->u.event.mark);
    else if (event->mark)
        await_mark(event->mark);
    pthread_mutex_unlock(&mgds_gpu.lock);
    return CUDA_SUCCESS;
}

/* The page is there from the start: records before the handle is asked for
 * count too. */
static CUresult share(struct mgds_gpu_event *event)
{
    void *page;

    event->fd = mgds_memfd_new(MGDS_PAGE, NULL);
    if (event->fd < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    page = mmap(NULL, sizeof(*event->page), PROT_READ | PROT_WRITE, MAP_SHARED,
                event->fd, 0);
    if (page == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->page = page;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent handle);

static CUresult create(struct mgds_gpu_ctx *ctx, CUevent *out, unsigned flags)
{
    unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
                     CU_EVENT_INTERPROCESS;
    struct mgds_gpu_event *event;
    CUresult rc = CUDA_SUCCESS;

    if (!out || flags & ~known)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    event = mgds_event_new(ctx, flags);
    if (flags & CU_EVENT_INTERPROCESS)
        rc = share(event);
    if (rc == CUDA_SUCCESS)
        *out = (CUevent)(void *)event;
    else
        destroy((CUevent)(void *)event);
    return rc;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX, create(call.ctx, event, flags));
}

static CUresult destroy(CUevent handle)
{
    struct mgds_gpu_event *event;
    CUresult rc = mgds_event_find(handle, &event);

    if (rc != CUDA_SUCCESS)
        return rc;
    mgds_handle_drop(event);
    mgds_event_put(event);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    MGDS_API(call, MGDS_NEED_INIT, destroy(event));
}

/* An event and its stream may be of different contexts, not of different
 * devices. */
static CUresult record(CUevent handle, CUstream stream_handle, unsigned flags)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_event *event;
    CUresult rc = mgds_event_find(handle, &event);

    if (rc == CUDA_SUCCESS)
        rc = mgds_stream_find(stream_handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (event->ctx->device != stream->ctx->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
        return mgds_capture_record(stream, event, flags);
    rc = mgds_capture_bars_legacy(stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    event->capture_id = 0;
    return mgds_stream_submit(stream, mgds_event_record_op(event, stream->ctx));
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    MGDS_API(call, MGDS_NEED_INIT, record(event, stream, 0));
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_INIT, record(event, stream, flags));
}

/* Nothing is queued if there is nothing to wait for: an event that was never
 * recorded, or reached already, holds nobody up. */
static CUresult wait_event(CUstream stream_handle, CUevent handle,
                           unsigned flags)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_event *event;
    struct mgds_gpu_op *op;
    CUresult rc = mgds_event_find(handle, &event);

    if (rc == CUDA_SUCCESS)
        rc = mgds_stream_find(stream_handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture || event->capture_id)
        return mgds_capture_wait(stream, event, flags);
    op = mgds_event_wait_op(event, stream->ctx);
    return op ? mgds_stream_submit(stream, op) : CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_INIT, wait_event(stream, event, flags));
}

/* A shared event counts what any process recorded. */
static bool is_reached(const struct mgds_gpu_event *event)
{
    if (event->page)
        return atomic_load(&event->page->reached) >=
               atomic_load(&event->page->called);
    return !event->mark || event->mark->done;
}

static CUresult query(CUevent handle)
{
    struct mgds_gpu_event *event;
    CUresult rc = mgds_event_find(handle, &event);

    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_event(event);
    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_unsafe();
    if (rc == CUDA_SUCCESS)
        rc = mgds_gpu_lost();
    if (rc != CUDA_SUCCESS)
        return rc;
    return is_reached(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventQuery(CUevent event)
{
    MGDS_API(call, MGDS_NEED_INIT, query(event));
}

static CUresult synchronize(CUevent handle)
{
    struct mgds_gpu_event *event;
    CUresult rc = mgds_event_find(handle, &event);
    uint64_t number;

    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_event(event);
    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    mgds_event_get(event);
    if (event->page) {
        number = atomic_load(&event->page->called);
        pthread_mutex_unlock(&mgds_gpu.lock);
        await_page(event->page, number);
        pthread_mutex_lock(&mgds_gpu.lock);
    } else if (event->mark) {
        await_mark(event->mark);
    }
    rc = mgds_gpu_lost();
    mgds_event_put(event);
    return rc;
}

CUresult cuEventSynchronize(CUevent event)
{
    MGDS_API(call, MGDS_NEED_INIT, synchronize(event));
}

/* Shared events have no time: their creation demands it. */
static CUresult timed(CUevent handle, struct mgds_gpu_event **out)
{
    CUresult rc = mgds_event_find(handle, out);

    if (rc != CUDA_SUCCESS)
        return rc;
    if ((*out)->flags & CU_EVENT_DISABLE_TIMING || !(*out)->mark)
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *ms, CUevent start_handle, CUevent end_handle)
{
    struct mgds_gpu_event *start, *end;
    CUresult rc = timed(start_handle, &start);
    double ns;

    if (rc == CUDA_SUCCESS)
        rc = timed(end_handle, &end);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!ms)
        return CUDA_ERROR_INVALID_VALUE;
    if (start->ctx->device != end->ctx->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->mark->done || !end->mark->done)
        return CUDA_ERROR_NOT_READY;
    ns = (double)end->mark->time - (double)start->mark->time;
    *ms = (float)(ns / 1e6);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    MGDS_API(call, MGDS_NEED_INIT, elapsed(ms, start, end));
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    MGDS_API(call, MGDS_NEED_INIT, elapsed(ms, start, end));
}
