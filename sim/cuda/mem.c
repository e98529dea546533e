/* Blocks: finding, making and giving up memory of every kind. */
#include "sim/cuda/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/hooks.h"
#include "sim/cuda/rdma.h"
#include "sim/cuda/window.h"
#include "shim/base/log.h"

/* New memory holds anything on a GPU; here its beginning holds this. */
#define GARBAGE 0xa5
#define DIRTY ((size_t)64 << 10)

struct mgds_gpu_block *mgds_mem_find(uintptr_t addr)
{
    struct mgds_range *row = mgds_range_find(&mgds_gpu.blocks, addr);

    return row ? row->value : NULL;
}

struct mgds_gpu_block *mgds_mem_base(uintptr_t addr)
{
    struct mgds_gpu_block *block = mgds_mem_find(addr);

    return block && block->addr == addr && !block->freeing ? block : NULL;
}

unsigned mgds_block_access(const struct mgds_gpu_block *block)
{
    unsigned access = CU_MEM_ACCESS_FLAGS_PROT_NONE;

    for (int i = 0; i < MGDS_GPU_MAX; i++)
        access |= block->access[i];
    return access;
}

/* Host and managed memory are open to all; what was imported is mapped in one
 * context. */
bool mgds_mem_reaches(const struct mgds_gpu_ctx *ctx, uintptr_t addr)
{
    struct mgds_gpu_block *block = mgds_mem_find(addr);
    unsigned own = 1u << ctx->device->ordinal;

    switch (block->kind) {
    case MGDS_BLOCK_DEVICE:
        return block->device == ctx->device ||
               ctx->peers & 1u << block->device->ordinal;
    case MGDS_BLOCK_POOL:
        return block->device == ctx->device || block->pool->peers & own;
    case MGDS_BLOCK_VIRTUAL:
        return block->access[ctx->device->ordinal];
    case MGDS_BLOCK_IPC:
        return block->ctx == ctx;
    default:
        return true;
    }
}

bool mgds_mem_in_reach(uintptr_t addr)
{
    const struct mgds_gpu_thread *thread = &mgds_gpu_thread;

    return thread->depth == 0 ||
           mgds_mem_reaches(thread->stack[thread->depth - 1], addr);
}

/* Neighbouring mappings count as one range, neighbouring allocations never
 * touch. */
bool mgds_mem_covers(uintptr_t addr, size_t size)
{
    uintptr_t end = addr + size;

    if (end < addr)
        return false;
    do {
        struct mgds_gpu_block *block = mgds_mem_find(addr);

        if (!block ||
            (block->kind == MGDS_BLOCK_VIRTUAL && !mgds_block_access(block)))
            return false;
        addr = block->addr + block->size;
    } while (addr < end);
    return true;
}

uint64_t mgds_host_hash(void)
{
    uint64_t h = 14695981039346656037u;

    for (const char *c = mgds_gpu.cfg.identity; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    return h;
}

/* The beginning of all names is the host's, which is all that others look at
 * when they import memory. */
static void memfd_name(char *name, size_t size,
                       const struct mgds_gpu_device *device)
{
    unsigned long long host = mgds_host_hash();

    if (device)
        snprintf(name, size, MGDS_SIM_MEMFD_NAME, host,
                 mgds_gpu.cfg.visible[device->ordinal], mgds_rdma_ordering());
    else
        snprintf(name, size, MGDS_SIM_MEMFD_KIND "%016llx", host);
}

/* Every allocation holds a descriptor, and the usual soft limit is low. */
static bool raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int mgds_memfd_new(size_t size, const struct mgds_gpu_device *device)
{
    char name[64];
    int fd;

    memfd_name(name, sizeof(name), device);
    fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 && errno == EMFILE && raise_limit())
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)size)) {
        close(fd);
        return -ENOMEM;
    }
    return fd;
}

int mgds_mem_share(const struct mgds_gpu_block *block)
{
    int fd = fcntl(block->physical ? block->physical->fd : block->fd,
                   F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    return fd;
}

bool mgds_memfd_is_ours(int fd)
{
    char path[64], link[128] = "", name[64];

    memfd_name(name, sizeof(name), NULL);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (readlink(path, link, sizeof(link) - 1) < 0)
        return false;
    return strstr(link, name) != NULL;
}

struct mgds_gpu_block *mgds_block_add(enum mgds_block_kind kind, uintptr_t addr,
                                      size_t size, struct mgds_gpu_ctx *ctx)
{
    struct mgds_gpu_block *block = mgds_gpu_calloc(1, sizeof(*block));

    block->kind = kind;
    block->addr = addr;
    block->size = size;
    block->id = mgds_gpu_next_id();
    block->ctx = ctx;
    block->device = ctx ? ctx->device : NULL;
    block->fd = -1;
    mgds_range_add(&mgds_gpu.blocks, addr, size, block);
    return block;
}

static size_t page_up(size_t size)
{
    return (size + MGDS_PAGE - 1) & ~(MGDS_PAGE - 1);
}

/* Does not fit: once per process a line, since programs rarely say it. */
static CUresult out_of_memory(const struct mgds_gpu_device *device, size_t size)
{
    static atomic_bool told;

    if (!atomic_exchange(&told, true))
        mgds_warn("software GPU: GPU %d: no room for %zu bytes, %zu of %llu "
                  "MiB are in "
                  "use: set MPIX_SIM_MEMORY (MiB)",
                  device->ordinal, size, device->used >> 20,
                  (unsigned long long)mgds_gpu.cfg.memory);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult mgds_mem_alloc(struct mgds_gpu_ctx *ctx, enum mgds_block_kind kind,
                        size_t size, struct mgds_gpu_block **out)
{
    struct mgds_gpu_device *device = ctx->device;
    size_t total = mgds_gpu.cfg.memory << 20;
    size_t align =
        size >= MGDS_VMM_GRANULARITY ? MGDS_VMM_GRANULARITY : MGDS_PAGE;
    uintptr_t addr;
    int fd;

    if (size > total || page_up(size) > total - device->used)
        return out_of_memory(device, size);
    fd = mgds_memfd_new(page_up(size), device);
    if (fd < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    addr = mgds_window_take(size, align, 0);
    if (!addr)
        goto close_fd;
    if (mgds_window_map(addr, size, fd, 0, true) < 0)
        goto give_address;
    memset(mgds_window_at(addr), GARBAGE, size < DIRTY ? size : DIRTY);
    *out = mgds_block_add(kind, addr, size, ctx);
    (*out)->fd = fd;
    device->used += page_up(size);
    return CUDA_SUCCESS;
give_address:
    mgds_window_give(addr);
close_fd:
    close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Truncated first: whoever else has it mapped faults, too. Not so where an HCA
 * has it, or a dma-buf: then the seal forbids it. */
static void drop_device(struct mgds_gpu_block *block)
{
    mgds_window_unmap(block->addr, block->size);
    mgds_window_give(block->addr);
    if (block->kind != MGDS_BLOCK_IPC) {
        block->device->used -= page_up(block->size);
        if (ftruncate(block->fd, 0) && errno != EPERM)
            mgds_warn("software GPU: cannot give device memory back: %m");
    }
    close(block->fd);
}

void mgds_mem_drop(struct mgds_gpu_block *block)
{
    mgds_range_remove(&mgds_gpu.blocks, block->addr);
    mgds_rdma_forget(block);
    switch (block->kind) {
    case MGDS_BLOCK_POOL:
        mgds_pool_forget(block->pool, page_up(block->size));
        drop_device(block);
        break;
    case MGDS_BLOCK_DEVICE:
    case MGDS_BLOCK_IPC:
        drop_device(block);
        break;
    case MGDS_BLOCK_VIRTUAL:
        mgds_window_unmap(block->addr, block->size);
        mgds_physical_put(block->physical);
        break;
    case MGDS_BLOCK_MANAGED:
        block->device->used -= page_up(block->size);
        munmap((void *)block->addr, page_up(block->size));
        break;
    case MGDS_BLOCK_HOST:
        munmap((void *)block->addr, page_up(block->size));
        break;
    case MGDS_BLOCK_REGISTERED:
        break;
    }
    free(block);
}

CUresult mgds_mem_release(struct mgds_gpu_block *block)
{
    uintptr_t addr = block->addr;
    uint64_t id = block->id;

    mgds_gpu_device_wait(block->device);
    block = mgds_mem_base(addr);
    if (!block || block->id != id)
        return CUDA_ERROR_INVALID_VALUE;
    if (mgds_gpu.cfg.watch_mapped && block->kind == MGDS_BLOCK_DEVICE &&
        mgds_ipc_is_mapped(block->fd))
        mgds_warn("software GPU: %zu bytes are freed that another process has "
                  "mapped: cuIpcCloseMemHandle goes first",
                  block->size);
    mgds_mem_drop(block);
    return CUDA_SUCCESS;
}

void mgds_mem_drop_all(struct mgds_gpu_ctx *ctx)
{
    size_t i = mgds_gpu.blocks.count;

    while (i-- > 0) {
        struct mgds_gpu_block *block = mgds_gpu.blocks.rows[i].value;

        if (block->ctx == ctx && block->kind != MGDS_BLOCK_VIRTUAL &&
            block->kind != MGDS_BLOCK_POOL)
            mgds_mem_drop(block);
    }
}
