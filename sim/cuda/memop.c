/* Stream memory operations: checks, comparisons, and waiting without a spin. */
#include "sim/cuda/memop.h"

#include "device/impl/mem.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/fault.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/rdma.h"
#include "sim/cuda/stream.h"

#define BATCH_MAX 256
#define EAGER_POLLS 64

/* Unaligned words are refused here, where hardware would tear them. */
static CUresult check_word(const struct mgds_gpu_ctx *ctx,
                           const CUstreamBatchMemOpParams *op, size_t size)
{
    uintptr_t addr = (uintptr_t)op->waitValue.address;

    if (addr % size || !mgds_mem_covers(addr, size) ||
        !mgds_mem_reaches(ctx, addr))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static unsigned comparison_of(const CUstreamBatchMemOpParams *op)
{
    return op->waitValue.flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
}

static CUresult check_wait(const struct mgds_gpu_ctx *ctx,
                           const CUstreamBatchMemOpParams *op, size_t size)
{
    unsigned flags = op->waitValue.flags;

    if (flags & CU_STREAM_WAIT_VALUE_FLUSH && !mgds_rdma_memops_flush())
        return CUDA_ERROR_NOT_SUPPORTED;
    if (comparison_of(op) > CU_STREAM_WAIT_VALUE_NOR)
        return CUDA_ERROR_INVALID_VALUE;
    return check_word(ctx, op, size);
}

static CUresult check_write(const struct mgds_gpu_ctx *ctx,
                            const CUstreamBatchMemOpParams *op, size_t size)
{
    /* the v2 calls have no write without a barrier */
    if (op->waitValue.flags)
        return CUDA_ERROR_INVALID_VALUE;
    return check_word(ctx, op, size);
}

static CUresult check_one(const struct mgds_gpu_ctx *ctx,
                          const CUstreamBatchMemOpParams *op)
{
    bool wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;

    if (wide && !mgds_gpu.cfg.wide_memops)
        return CUDA_ERROR_NOT_SUPPORTED;
    switch (op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return check_wait(ctx, op, 4);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return check_wait(ctx, op, 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return check_write(ctx, op, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return check_write(ctx, op, 8);
    case CU_STREAM_MEM_OP_BARRIER:
        return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return mgds_rdma_memops_flush() ? CUDA_SUCCESS
                                        : CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult mgds_memop_check(const struct mgds_gpu_ctx *ctx,
                          const CUstreamBatchMemOpParams *ops, unsigned count,
                          unsigned flags)
{
    CUresult rc = CUDA_SUCCESS;

    if ((!ops && count) || count >= BATCH_MAX || flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && rc == CUDA_SUCCESS; i++)
        rc = check_one(ctx, &ops[i]);
    return rc;
}

struct mgds_gpu_op *mgds_memop_op(struct mgds_gpu_ctx *ctx,
                                  const CUstreamBatchMemOpParams *ops,
                                  unsigned count)
{
    struct mgds_gpu_op *op =
        mgds_op_new(MGDS_OP_MEMOP, ctx, ops, count * sizeof(*ops));

    op->u.memops = count;
    return op;
}

/* GEQ is cyclic: less than half of the range behind. */
static bool holds32(uint32_t seen, uint32_t value, unsigned how)
{
    switch (how) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return (int32_t)(seen - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return seen == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (seen & value) != 0;
    default:
        return ~(seen | value) != 0;
    }
}

static bool holds64(uint64_t seen, uint64_t value, unsigned how)
{
    switch (how) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return (int64_t)(seen - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return seen == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (seen & value) != 0;
    default:
        return ~(seen | value) != 0;
    }
}

static bool is_met(const CUstreamBatchMemOpParams *op)
{
    const void *word = (const void *)(uintptr_t)op->waitValue.address;

    if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
        return holds32(mgds_load_acquire32(word), op->waitValue.value,
                       comparison_of(op));
    return holds64(mgds_load_acquire64(word), op->waitValue.value64,
                   comparison_of(op));
}

/* Anybody may write the word, other processes and NICs too: there is nothing
 * to sleep on. Ends with the process's GPU work. What was written to the GPU
 * before the word is there if the wait asks for a flush. */
static void wait_word(const struct mgds_gpu_device *device,
                      const CUstreamBatchMemOpParams *op)
{
    uint64_t nap = 0;

    for (unsigned polls = 0; !is_met(op) && !mgds_gpu_lost(); polls++) {
        if (polls >= EAGER_POLLS)
            mgds_gpu_doze(&nap);
    }
    if (op->waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH)
        mgds_rdma_flush(device);
}

/* Everything before it is visible first: a release. */
static void write_word(const CUstreamBatchMemOpParams *op)
{
    void *word = (void *)(uintptr_t)op->waitValue.address;

    if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
        mgds_store_release32(word, op->waitValue.value);
    else
        mgds_store_release64(word, op->waitValue.value64);
}

static void run_list(void *arg)
{
    const struct mgds_gpu_op *op = arg;
    const CUstreamBatchMemOpParams *ops = op->payload;

    for (unsigned i = 0; i < op->u.memops; i++) {
        switch (ops[i].operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            wait_word(op->ctx->device, &ops[i]);
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            write_word(&ops[i]);
            break;
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
            mgds_rdma_flush(op->ctx->device);
            break;
        default: /* a barrier: each write is one */
            break;
        }
    }
}

CUresult mgds_memop_run(const struct mgds_gpu_op *op)
{
    if (mgds_fault_run(run_list, (void *)(uintptr_t)op) < 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return CUDA_SUCCESS;
}

static CUresult submit(CUstream handle, const CUstreamBatchMemOpParams *ops,
                       unsigned count, unsigned flags)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc == CUDA_SUCCESS)
        rc = mgds_memop_check(stream->ctx, ops, count, flags);
    if (rc != CUDA_SUCCESS || count == 0)
        return rc;
    return mgds_stream_submit(stream, mgds_memop_op(stream->ctx, ops, count));
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams *ops, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_INIT, submit(stream, ops, count, flags));
}

static CUresult one(CUstream stream, CUstreamBatchMemOpType type,
                    CUdeviceptr addr, cuuint64_t value, unsigned flags)
{
    CUstreamBatchMemOpParams op = {.waitValue = {.operation = type,
                                                 .address = addr,
                                                 .value64 = value,
                                                 .flags = flags}};

    return cuStreamBatchMemOp_v2(stream, 1, &op, 0);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr,
                                cuuint32_t value, unsigned flags)
{
    return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr,
                                cuuint64_t value, unsigned flags)
{
    return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr,
                                 cuuint32_t value, unsigned flags)
{
    return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr,
                                 cuuint64_t value, unsigned flags)
{
    return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

/* The first version of these calls does the same. */
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count,
                            CUstreamBatchMemOpParams *ops, unsigned flags)
{
    return cuStreamBatchMemOp_v2(stream, count, ops, flags);
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr,
                             cuuint32_t value, unsigned flags)
{
    return cuStreamWaitValue32_v2(stream, addr, value, flags);
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr,
                             cuuint64_t value, unsigned flags)
{
    return cuStreamWaitValue64_v2(stream, addr, value, flags);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr,
                              cuuint32_t value, unsigned flags)
{
    return cuStreamWriteValue32_v2(stream, addr, value, flags);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr,
                              cuuint64_t value, unsigned flags)
{
    return cuStreamWriteValue64_v2(stream, addr, value, flags);
}
