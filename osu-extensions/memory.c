/* The kinds of memory by name, and views of them for the host. */
#include "osu-extensions/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/gpu.h"

#define PAGE 4096

static int host_alloc(void **out, size_t bytes)
{
    return -posix_memalign(out, PAGE, bytes);
}

static const struct mgds_bench_memory host = {
    .name = "HOST (H)",
    .alloc = host_alloc,
    .free = free,
};

static const struct mgds_bench_memory *const kinds[] = {
    [MGDS_BENCH_HOST] = &host,
    [MGDS_BENCH_DEVICE] = &mgds_bench_device,
    [MGDS_BENCH_MANAGED_HOST] = &mgds_bench_managed_host,
    [MGDS_BENCH_MANAGED_DEVICE] = &mgds_bench_managed_device,
};

const struct mgds_bench_memory *
mgds_bench_memory_find(enum mgds_bench_kind kind)
{
    return kinds[kind];
}

int mgds_bench_buffer_init(struct mgds_bench_buffer *buffer,
                           const struct mgds_bench_memory *memory, size_t bytes)
{
    struct mgds_bench_buffer made = {.memory = memory, .bytes = bytes};
    void *at;
    int rc = memory->alloc(&at, bytes > 0 ? bytes : 1);

    if (rc < 0)
        return rc;
    made.at = at;
    made.view = memory->put ? malloc(bytes > 0 ? bytes : 1) : at;
    if (!made.view)
        goto free_memory;
    *buffer = made;
    return 0;
free_memory:
    memory->free(at);
    return -ENOMEM;
}

void mgds_bench_buffer_fini(struct mgds_bench_buffer *buffer)
{
    if (buffer->view != buffer->at)
        free(buffer->view);
    buffer->memory->free(buffer->at);
}

int mgds_bench_buffer_flush(struct mgds_bench_buffer *buffer, size_t bytes)
{
    if (buffer->view == buffer->at || bytes == 0)
        return 0;
    return buffer->memory->put(buffer->at, buffer->view, bytes);
}

int mgds_bench_buffer_fetch(struct mgds_bench_buffer *buffer, size_t bytes)
{
    if (buffer->view == buffer->at || bytes == 0)
        return 0;
    return buffer->memory->get(buffer->view, buffer->at, bytes);
}
