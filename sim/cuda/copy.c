/* Copies: checks, the rules of host synchronisation, execution. */
#include "sim/cuda/copy.h"

#include <string.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/fault.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/stream.h"
#include "sim/cuda/window.h"

#define STAGED_MAX ((size_t)64 << 10)

/* First to last byte; more than there is if that is too much for a number. */
static size_t extent(const struct mgds_op_copy *copy, size_t pitch,
                     size_t slice)
{
    size_t rows, slices, sum;

    if (__builtin_mul_overflow(copy->height - 1, pitch, &rows) ||
        __builtin_mul_overflow(copy->depth - 1, slice, &slices) ||
        __builtin_add_overflow(rows, slices, &sum) ||
        __builtin_add_overflow(sum, copy->width, &sum))
        return SIZE_MAX;
    return sum;
}

/* Known memory must be known to the end; the rest is pageable, GPU memory that
 * was freed too. Only reserved addresses are known not to be memory. */
static CUresult check_end(uintptr_t addr, size_t size, enum mgds_end end)
{
    if (mgds_mem_find(addr))
        return mgds_mem_covers(addr, size) ? CUDA_SUCCESS
                                           : CUDA_ERROR_INVALID_VALUE;
    if (!addr || end == MGDS_END_KNOWN || mgds_vmm_reservation(addr))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static bool is_on_gpu(uintptr_t addr, int *device)
{
    struct mgds_gpu_block *block = mgds_mem_find(addr);

    if (!block || mgds_block_is_host(block))
        return false;
    *device = block->device->ordinal;
    return true;
}

CUresult mgds_copy_check(struct mgds_copy_request *request)
{
    struct mgds_op_copy *copy = &request->copy;
    int from = -1, to = -2;
    CUresult rc;

    if (copy->width == 0 || copy->height == 0 || copy->depth == 0)
        return CUDA_SUCCESS;
    rc = check_end(copy->src, extent(copy, copy->src_pitch, copy->src_slice),
                   request->src);
    if (rc == CUDA_SUCCESS)
        rc =
            check_end(copy->dst, extent(copy, copy->dst_pitch, copy->dst_slice),
                      request->dst);
    copy->link = !is_on_gpu(copy->src, &from) || !is_on_gpu(copy->dst, &to) ||
                 from != to;
    return rc;
}

/* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: plain calls wait, asynchronous ones do not
 * (H100, driver 580). */
static bool is_sync_memops(uintptr_t addr)
{
    struct mgds_gpu_block *block = mgds_mem_find(addr);

    return block && block->sync_memops;
}

/* A small pageable source is read by the call itself, so that the program
 * may change it at once. */
static bool is_staged(const struct mgds_copy_request *request)
{
    const struct mgds_op_copy *copy = &request->copy;
    int device;

    return !request->sync && !mgds_mem_is_pinned(copy->src) &&
           copy->height == 1 && copy->depth == 1 && copy->width <= STAGED_MAX &&
           is_on_gpu(copy->dst, &device);
}

/* Between two places of device memory even the plain call does not wait; from
 * host to host even the asynchronous one does. */
static bool must_wait(const struct mgds_copy_request *request)
{
    const struct mgds_op_copy *copy = &request->copy;
    int device;
    bool from_host = !is_on_gpu(copy->src, &device);
    bool to_host = !is_on_gpu(copy->dst, &device);

    if (request->sync)
        return from_host || to_host || is_sync_memops(copy->src) ||
               is_sync_memops(copy->dst);
    if (from_host && to_host)
        return true;
    return !mgds_mem_is_pinned(copy->src) || !mgds_mem_is_pinned(copy->dst);
}

/* A staged source is the operation's own from now on. */
static struct mgds_gpu_op *copy_op(const struct mgds_copy_request *request,
                                   struct mgds_gpu_ctx *ctx, bool staged)
{
    const void *bytes = staged ? (const void *)request->copy.src : NULL;
    struct mgds_gpu_op *op =
        mgds_op_new(MGDS_OP_COPY, ctx, bytes, staged ? request->copy.width : 0);

    op->u.copy = request->copy;
    op->u.copy.staged = staged;
    if (staged)
        op->u.copy.src = (uintptr_t)op->payload;
    return op;
}

/* One end of a copy: rows of width bytes from addr on. */
struct rows {
    uintptr_t addr;
    size_t pitch, slice;
};

/* Not instrumented: the program may write there while the call waits for its
 * turn, and an address that is not memory must be the program's crash, not a
 * report. */
__attribute__((no_sanitize("address", "thread"))) static void
touch(uintptr_t addr, size_t size)
{
    uintptr_t end = addr + size;

    for (; addr < end; addr = (addr | (MGDS_PAGE - 1)) + 1)
        (void)*(volatile const char *)addr;
}

static void touch_rows(struct rows rows, const struct mgds_op_copy *copy)
{
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            touch(rows.addr + z * rows.slice + y * rows.pitch, copy->width);
}

/* The CPU copies pageable memory, in the call: where there is none (freed
 * device memory, for one) the program dies of it there. Without the lock, for
 * its handler may leave by longjmp. True if the lock was let go. */
static bool touch_pageable(const struct mgds_op_copy *copy)
{
    bool src = !mgds_mem_is_pinned(copy->src);
    bool dst = !mgds_mem_is_pinned(copy->dst);

    if (!src && !dst)
        return false;
    pthread_mutex_unlock(&mgds_gpu.lock);
    if (src)
        touch_rows((struct rows){copy->src, copy->src_pitch, copy->src_slice},
                   copy);
    if (dst)
        touch_rows((struct rows){copy->dst, copy->dst_pitch, copy->dst_slice},
                   copy);
    pthread_mutex_lock(&mgds_gpu.lock);
    return true;
}

/* Copy engines go to plain memory of a device that kernels do not reach, but
 * not to a mapping or a pool to which the current context's device, whatever
 * the stream's is, was given no access. */
static bool is_open(uintptr_t addr)
{
    struct mgds_gpu_block *block = mgds_mem_find(addr);

    return !block ||
           (block->kind != MGDS_BLOCK_VIRTUAL &&
            block->kind != MGDS_BLOCK_POOL) ||
           mgds_mem_in_reach(addr);
}

static CUresult find_and_check(CUstream handle,
                               struct mgds_copy_request *request,
                               struct mgds_gpu_stream **stream)
{
    CUresult rc = mgds_stream_find(handle, stream);

    if (rc == CUDA_SUCCESS)
        rc = mgds_copy_check(request);
    if (rc == CUDA_SUCCESS &&
        !(is_open(request->copy.src) && is_open(request->copy.dst)))
        return CUDA_ERROR_INVALID_VALUE;
    return rc;
}

CUresult mgds_copy_submit(CUstream handle, struct mgds_copy_request *request)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = find_and_check(handle, request, &stream);
    bool staged, wait;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (request->copy.width == 0 || request->copy.height == 0 ||
        request->copy.depth == 0)
        return CUDA_SUCCESS;
    if (!stream->capture && touch_pageable(&request->copy))
        rc = find_and_check(handle, request, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (request->sync && stream->capture)
        return mgds_capture_bars_sync(stream);
    staged = !stream->capture && is_staged(request);
    wait = !stream->capture && !staged && must_wait(request);
    rc = mgds_stream_submit(stream, copy_op(request, stream->ctx, staged));
    if (request->sync)
        stream->unwaited = stream->last;
    return rc == CUDA_SUCCESS && wait ? mgds_stream_finish(stream) : rc;
}

/* memmove: what overlapping ends give is undefined on a GPU and must not be
 * undefined behaviour here. */
static void copy_body(void *arg)
{
    const struct mgds_op_copy *copy = arg;

    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++) {
            uintptr_t src =
                copy->src + z * copy->src_slice + y * copy->src_pitch;
            uintptr_t dst =
                copy->dst + z * copy->dst_slice + y * copy->dst_pitch;

            memmove(mgds_window_at(dst), mgds_window_at(src), copy->width);
        }
    }
}

/* What the model says these bytes take, less what they did take. */
static void take_time(size_t bytes, uint64_t mb_per_s, uint64_t since)
{
    uint64_t end, now;

    if (!mb_per_s)
        return;
    end = since + bytes * 1000 / mb_per_s;
    now = mgds_gpu_now();
    if (now < end)
        mgds_gpu_nap(end - now);
}

CUresult mgds_copy_run(const struct mgds_gpu_op *op)
{
    struct mgds_op_copy copy = op->u.copy;
    const struct mgds_gpu_config *cfg = &mgds_gpu.cfg;
    uint64_t speed = copy.link ? cfg->link_bandwidth : cfg->bandwidth;
    uint64_t since = speed ? mgds_gpu_now() : 0;

    if (mgds_fault_run(copy_body, &copy) < 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    take_time(copy.width * copy.height * copy.depth, speed, since);
    return CUDA_SUCCESS;
}

/* The bytes of a value are its low ones: the host is little-endian, as the
 * device is. */
static void set_body(void *arg)
{
    const struct mgds_op_set *set = arg;

    for (size_t y = 0; y < set->height; y++) {
        unsigned char *row = mgds_window_at(set->dst + y * set->pitch);

        if (set->element == 1) {
            memset(row, (int)set->value, set->width);
            continue;
        }
        for (size_t x = 0; x < set->width; x++)
            memcpy(row + x * set->element, &set->value, set->element);
    }
}

CUresult mgds_set_run(const struct mgds_gpu_op *op)
{
    struct mgds_op_set set = op->u.set;
    uint64_t speed = mgds_gpu.cfg.bandwidth;
    uint64_t since = speed ? mgds_gpu_now() : 0;

    if (mgds_fault_run(set_body, &set) < 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    take_time(set.width * set.element * set.height, speed, since);
    return CUDA_SUCCESS;
}

CUresult mgds_set_check(const struct mgds_op_set *set)
{
    size_t bytes, rows, sum;

    if (set->dst % set->element ||
        __builtin_mul_overflow(set->width, set->element, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (set->width == 0 || set->height == 0)
        return CUDA_SUCCESS;
    if (set->height > 1 && (set->pitch < bytes || set->pitch % set->element))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(set->height - 1, set->pitch, &rows) ||
        __builtin_add_overflow(rows, bytes, &sum) ||
        !mgds_mem_covers(set->dst, sum))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
