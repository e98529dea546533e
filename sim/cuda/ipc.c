/* Memory and events of other processes. A handle names the exporter's
 * descriptor; who opens it takes it through /proc, which needs no help from
 * the exporter and fails when that is gone. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/event.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/window.h"
#include "shim/base/log.h"

#define MEMORY_MAGIC 0x4d47504du
#define EVENT_MAGIC 0x4d475045u

static_assert(sizeof(struct mgds_ipc_key) == 64, "fills a driver's handle");

/* When that process started, in ticks since boot; 0 if it is gone. */
static uint64_t start_time(int pid)
{
    char path[64], text[1024];
    char *field;
    unsigned long long start = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* the name may hold anything: fields are counted behind its bracket */
    field = strrchr(text, ')');
    for (int i = 0; field && i < 20; i++)
        field = strchr(field + 1, ' ');
    if (field)
        start = strtoull(field, NULL, 10);
    return start;
}

static CUresult key_of(struct mgds_ipc_key *key, uint32_t magic, int fd,
                       size_t size)
{
    struct stat status;

    if (fstat(fd, &status))
        return CUDA_ERROR_OPERATING_SYSTEM;
    *key = (struct mgds_ipc_key){
        .magic = magic,
        .pid = getpid(),
        .start = start_time(getpid()),
        .fd = fd,
        .inode = status.st_ino,
        .size = size,
        .host = mgds_host_hash(),
    };
    return CUDA_SUCCESS;
}

/* The exporter's descriptor as ours; negative errno: -EINVAL for no handle of
 * that kind, -EREMOTE from another host, -ESRCH if it is gone. */
static int fetch(const struct mgds_ipc_key *key, uint32_t magic)
{
    char path[64];
    struct stat status;
    int fd;

    if (key->magic != magic)
        return -EINVAL;
    if (key->host != mgds_host_hash())
        return -EREMOTE;
    if (start_time(key->pid) != key->start)
        return -ESRCH;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", key->pid, key->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -ESRCH;
    if (fstat(fd, &status) || status.st_ino != key->inode ||
        (size_t)status.st_size < key->size) {
        close(fd);
        return -ESRCH;
    }
    return fd;
}

/* What a failed fetch is to a program; `unknown` if the handle is of nothing
 * that there is. */
static CUresult fetch_error(int rc, CUresult unknown)
{
    if (rc == -EREMOTE)
        mgds_warn("software GPU: an IPC handle comes from another host "
                  "(MPIX_SIM_HOST "
                  "differs): refused");
    return rc == -EINVAL ? unknown : CUDA_ERROR_INVALID_VALUE;
}

/* Any pointer into the allocation gives the handle of all of it, as the
 * driver does. */
static CUresult get_memory(CUipcMemHandle *handle, CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)ptr);
    struct mgds_ipc_key key;
    CUresult rc;

    if (!handle || !block || block->kind != MGDS_BLOCK_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    rc = key_of(&key, MEMORY_MAGIC, block->fd, block->size);
    if (rc != CUDA_SUCCESS)
        return rc;
    key.device = mgds_gpu.cfg.visible[block->device->ordinal];
    memcpy(handle, &key, sizeof(key));
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_CTX, get_memory(handle, ptr));
}

/* The block that this handle was opened as, or NULL. */
static struct mgds_gpu_block *opened(const struct mgds_gpu_ctx *ctx,
                                     const struct mgds_ipc_key *key)
{
    for (size_t i = 0; i < mgds_gpu.blocks.count; i++) {
        struct mgds_gpu_block *block = mgds_gpu.blocks.rows[i].value;

        if (block->kind == MGDS_BLOCK_IPC && block->ctx == ctx &&
            memcmp(&block->key, key, sizeof(*key)) == 0)
            return block;
    }
    return NULL;
}

static size_t count_opened(void)
{
    size_t opened = 0;

    for (size_t i = 0; i < mgds_gpu.blocks.count; i++) {
        const struct mgds_gpu_block *block = mgds_gpu.blocks.rows[i].value;

        opened += block->kind == MGDS_BLOCK_IPC;
    }
    return opened;
}

/* Where the memory is, if that device is visible here; else the context's. */
static struct mgds_gpu_device *home(const struct mgds_ipc_key *key,
                                    struct mgds_gpu_ctx *ctx)
{
    for (int i = 0; i < mgds_gpu.devices; i++) {
        if (mgds_gpu.cfg.visible[i] == key->device)
            return &mgds_gpu.device[i];
    }
    return ctx->device;
}

/* Takes fd if it succeeds. The lock goes when that is closed, or the process
 * dies. */
static CUresult map_memory(struct mgds_gpu_ctx *ctx,
                           const struct mgds_ipc_key *key, int fd,
                           struct mgds_gpu_block **out)
{
    uintptr_t addr;

    if (count_opened() >= mgds_gpu.cfg.mappings)
        return CUDA_ERROR_ALREADY_MAPPED;
    addr = mgds_window_take(key->size, MGDS_VMM_GRANULARITY, 0);
    if (!addr)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (mgds_window_map(addr, key->size, fd, 0, true) < 0) {
        mgds_window_give(addr);
        return CUDA_ERROR_MAP_FAILED;
    }
    *out = mgds_block_add(MGDS_BLOCK_IPC, addr, key->size, ctx);
    (*out)->device = home(key, ctx);
    (*out)->fd = fd;
    (*out)->key = *key;
    flock(fd, LOCK_SH);
    return CUDA_SUCCESS;
}

bool mgds_ipc_is_mapped(int fd)
{
    bool mapped = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;

    if (!mapped)
        flock(fd, LOCK_UN);
    return mapped;
}

static CUresult open_memory(struct mgds_gpu_ctx *ctx, CUdeviceptr *ptr,
                            const CUipcMemHandle *handle, unsigned flags)
{
    struct mgds_gpu_block *block;
    struct mgds_ipc_key key;
    CUresult rc;
    int fd;

    if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&key, handle, sizeof(key));
    if (!mgds_gpu.cfg.peers && home(&key, ctx) != ctx->device)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (key.magic == MEMORY_MAGIC && key.pid == getpid() &&
        key.start == start_time(getpid()))
        return CUDA_ERROR_INVALID_CONTEXT;
    block = opened(ctx, &key);
    if (!block) {
        fd = fetch(&key, MEMORY_MAGIC);
        if (fd < 0)
            return fetch_error(fd, CUDA_ERROR_INVALID_VALUE);
        rc = map_memory(ctx, &key, fd, &block);
        if (rc != CUDA_SUCCESS) {
            close(fd);
            return rc;
        }
    }
    block->opens++;
    *ptr = block->addr;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle,
                               unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             open_memory(call.ctx, ptr, &handle, flags));
}

static CUresult close_memory(CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = mgds_mem_base((uintptr_t)ptr);

    if (!block || block->kind != MGDS_BLOCK_IPC)
        return CUDA_ERROR_INVALID_VALUE;
    mgds_gpu_device_wait(block->ctx->device);
    if (mgds_mem_base((uintptr_t)ptr) != block) /* closed twice at once */
        return CUDA_ERROR_INVALID_VALUE;
    if (--block->opens == 0)
        mgds_mem_drop(block);
    return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE, close_memory(ptr));
}

static CUresult get_event(CUipcEventHandle *handle, CUevent event_handle)
{
    struct mgds_gpu_event *event;
    struct mgds_ipc_key key;
    CUresult rc = mgds_event_find(event_handle, &event);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (!(event->flags & CU_EVENT_INTERPROCESS) || event->imported)
        return CUDA_ERROR_INVALID_HANDLE;
    rc = key_of(&key, EVENT_MAGIC, event->fd, sizeof(struct mgds_event_page));
    if (rc == CUDA_SUCCESS)
        memcpy(handle, &key, sizeof(key));
    return rc;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
    MGDS_API(call, MGDS_NEED_CTX, get_event(handle, event));
}

/* The page is all there is to a shared event: records and waits go there. */
static CUresult open_event(struct mgds_gpu_ctx *ctx, CUevent *out,
                           const CUipcEventHandle *handle)
{
    struct mgds_gpu_event *event;
    struct mgds_event_page *page;
    struct mgds_ipc_key key;
    int fd;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&key, handle, sizeof(key));
    if (key.magic == EVENT_MAGIC && key.pid == getpid() &&
        key.start == start_time(getpid()))
        return CUDA_ERROR_INVALID_CONTEXT;
    fd = fetch(&key, EVENT_MAGIC);
    if (fd < 0)
        return fetch_error(fd, CUDA_ERROR_MAP_FAILED);
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        close(fd);
        return CUDA_ERROR_MAP_FAILED;
    }
    event =
        mgds_event_new(ctx, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    event->page = page;
    event->fd = fd;
    event->imported = true;
    *out = (CUevent)(void *)event;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
    MGDS_API(call, MGDS_NEED_CTX, open_event(call.ctx, event, &handle));
}
