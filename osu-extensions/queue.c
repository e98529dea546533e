/* A stream, a word that holds it, two events. */
#include "osu-extensions/queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/libcuda.h"
#include "shim/gds/cuda/driver_abi.h"

struct mgds_bench_queue {
    CUstream stream;
    uint32_t *word; /* pinned; the stream waits until it is `holds` */
    uint32_t holds;
    CUevent begin;
    CUevent end;
};

static struct {
#define X(name, version, params) CUresult(*name) params;
#include "osu-extensions/queue.def"
#undef X
} cu;

static int table_fill(void)
{
    void *found;

#define X(name, version, params)                                               \
    found = mgds_libcuda_find(#name, version);                                 \
    if (!found)                                                                \
        return -ENOSYS;                                                        \
    memcpy(&cu.name, &found, sizeof(found));
#include "osu-extensions/queue.def"
#undef X
    return 0;
}

static int to_errno(CUresult rc)
{
    return rc == CUDA_SUCCESS ? 0 : -EIO;
}

static int parts_create(struct mgds_bench_queue *queue)
{
    void *word = NULL;
    int rc = to_errno(cu.cuMemHostAlloc(&word, sizeof(*queue->word), 0));

    if (rc < 0)
        return rc;
    queue->word = word;
    *queue->word = 0;
    rc = to_errno(cu.cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING));
    if (rc == 0)
        rc = to_errno(cu.cuEventCreate(&queue->begin, CU_EVENT_DEFAULT));
    if (rc == 0)
        rc = to_errno(cu.cuEventCreate(&queue->end, CU_EVENT_BLOCKING_SYNC));
    return rc;
}

int mgds_bench_queue_create(struct mgds_bench_queue **out)
{
    struct mgds_bench_queue *queue = calloc(1, sizeof(*queue));
    int rc = queue ? table_fill() : -ENOMEM;

    if (rc < 0)
        goto free_queue;
    rc = parts_create(queue);
    if (rc < 0)
        goto destroy;
    *out = queue;
    return 0;
destroy:
    mgds_bench_queue_destroy(queue);
    return rc;
free_queue:
    free(queue);
    return rc;
}

void mgds_bench_queue_destroy(struct mgds_bench_queue *queue)
{
    if (queue->end)
        cu.cuEventDestroy(queue->end);
    if (queue->begin)
        cu.cuEventDestroy(queue->begin);
    if (queue->stream)
        cu.cuStreamDestroy(queue->stream);
    if (queue->word)
        cu.cuMemFreeHost(queue->word);
    free(queue);
}

void *mgds_bench_queue_stream(const struct mgds_bench_queue *queue)
{
    return queue->stream;
}

int mgds_bench_queue_hold(struct mgds_bench_queue *queue)
{
    queue->holds++;
    return to_errno(cu.cuStreamWaitValue32(
        queue->stream, (CUdeviceptr)(uintptr_t)queue->word, queue->holds,
        CU_STREAM_WAIT_VALUE_GEQ));
}

void mgds_bench_queue_go(struct mgds_bench_queue *queue)
{
    __atomic_store_n(queue->word, queue->holds, __ATOMIC_RELEASE);
}

int mgds_bench_queue_begin(struct mgds_bench_queue *queue)
{
    return to_errno(cu.cuEventRecord(queue->begin, queue->stream));
}

int mgds_bench_queue_end(struct mgds_bench_queue *queue)
{
    return to_errno(cu.cuEventRecord(queue->end, queue->stream));
}

int mgds_bench_queue_wait(struct mgds_bench_queue *queue)
{
    return to_errno(cu.cuStreamSynchronize(queue->stream));
}

int mgds_bench_queue_rest(struct mgds_bench_queue *queue)
{
    return to_errno(cu.cuEventSynchronize(queue->end));
}

int mgds_bench_queue_seconds(const struct mgds_bench_queue *queue,
                             double *seconds)
{
    float ms = 0;
    int rc = to_errno(cu.cuEventElapsedTime(&ms, queue->begin, queue->end));

    *seconds = (double)ms / 1e3;
    return rc;
}
