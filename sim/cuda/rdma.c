/* Memory of GPUs for HCAs, which take the role of hardware here; the software
 * GPU that of nvidia-peermem. */
#include "sim/cuda/rdma.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/hooks.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/window.h"

/* Bits of FLUSH_WRITES_OPTIONS. */
enum { BY_HOST = 1, BY_MEMOPS = 2 };

/* Answers in order of enum mgds_gpu_ordering; an H200 gives those of owner. A
 * GPU that orders nothing has both ways to flush. */
static const struct {
    int ordering;
    int flush_options;
} reported[] = {
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE, BY_HOST | BY_MEMOPS},
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER, BY_HOST},
    {CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES, BY_HOST},
};

/* Held by the block and by each HCA that has the memory; written locked, `gone`
 * read by HCAs without. */
struct mgds_sim_pin {
    uint32_t gone;
    unsigned refs;
};

static void (*_Atomic on_flush)(unsigned gpu);

bool mgds_rdma_memops_flush(void)
{
    return reported[mgds_gpu.cfg.rdma_ordering].flush_options & BY_MEMOPS;
}

unsigned mgds_rdma_ordering(void)
{
    return (unsigned)reported[mgds_gpu.cfg.rdma_ordering].ordering;
}

bool mgds_rdma_attribute(unsigned name, int *value)
{
    switch (name) {
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
        *value = reported[mgds_gpu.cfg.rdma_ordering].ordering;
        return true;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
        *value = reported[mgds_gpu.cfg.rdma_ordering].flush_options;
        return true;
    case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES:
        *value = mgds_rdma_memops_flush();
        return true;
    default:
        return false;
    }
}

/* Mapped memory must have been made so (gdrcopy issue 177). Of pools it is a
 * guess on the safe side. */
bool mgds_rdma_capable(const struct mgds_gpu_block *block)
{
    switch (block->kind) {
    case MGDS_BLOCK_DEVICE:
    case MGDS_BLOCK_IPC:
        return true;
    case MGDS_BLOCK_VIRTUAL:
        return block->physical->prop.allocFlags.gpuDirectRDMACapable &&
               mgds_block_access(block) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    default:
        return false;
    }
}

static void put_pin(struct mgds_sim_pin *pin)
{
    if (--pin->refs == 0)
        free(pin);
}

/* An HCA that finds the word 0 may still have been ahead of the free: it writes
 * to memory that only it has. */
void mgds_rdma_forget(struct mgds_gpu_block *block)
{
    if (!block->pin)
        return;
    __atomic_store_n(&block->pin->gone, 1, __ATOMIC_RELEASE);
    put_pin(block->pin);
    block->pin = NULL;
}

static struct mgds_sim_pin *get_pin(struct mgds_gpu_block *block)
{
    if (!block->pin) {
        block->pin = mgds_gpu_calloc(1, sizeof(*block->pin));
        block->pin->refs = 1;
    }
    block->pin->refs++;
    return block->pin;
}

static int pin_block(struct mgds_gpu_block *block, uintptr_t addr,
                     struct mgds_sim_memory *out)
{
    int fd = mgds_mem_share(block);

    if (fd < 0)
        return fd;
    out->fd = fd;
    out->offset = addr - block->addr + block->offset;
    out->pin = get_pin(block);
    out->gone = &out->pin->gone;
    return 0;
}

static int pin_address(uintptr_t addr, size_t bytes,
                       struct mgds_sim_memory *out)
{
    struct mgds_gpu_block *block = mgds_mem_find(addr);

    if (!mgds_window_has(addr))
        return -ENOENT;
    if (!block || bytes == 0 || bytes > block->addr + block->size - addr ||
        !mgds_rdma_capable(block))
        return -EFAULT;
    return pin_block(block, addr, out);
}

int mgds_sim_pin(const void *ptr, size_t bytes, struct mgds_sim_memory *out)
{
    int rc;

    pthread_mutex_lock(&mgds_gpu.lock);
    rc = pin_address((uintptr_t)ptr, bytes, out);
    pthread_mutex_unlock(&mgds_gpu.lock);
    return rc;
}

void mgds_sim_unpin(struct mgds_sim_pin *pin)
{
    pthread_mutex_lock(&mgds_gpu.lock);
    put_pin(pin);
    pthread_mutex_unlock(&mgds_gpu.lock);
}

void mgds_sim_on_flush(void (*flush)(unsigned gpu))
{
    on_flush = flush;
}

static void flush_gpu(unsigned number)
{
    void (*flush)(unsigned gpu) = on_flush;

    if (flush)
        flush(number);
}

void mgds_rdma_flush(const struct mgds_gpu_device *device)
{
    flush_gpu(mgds_gpu.cfg.visible[device->ordinal]);
}

/* The GPU of the current context, which is the only target there is. */
static CUresult flushed_gpu(const struct mgds_gpu_ctx *ctx, unsigned target,
                            unsigned scope, unsigned *number)
{
    (void)target;
    *number = mgds_gpu.cfg.visible[ctx->device->ordinal];
    return scope == CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER ||
                   scope == CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult begin_flush(unsigned target, unsigned scope, unsigned *number)
{
    MGDS_API(call, MGDS_NEED_CTX, flushed_gpu(call.ctx, target, scope, number));
}

CUresult cuFlushGPUDirectRDMAWrites(unsigned target, unsigned scope)
{
    unsigned number = 0;
    CUresult rc = begin_flush(target, scope, &number);

    if (rc == CUDA_SUCCESS)
        flush_gpu(number);
    return rc;
}
