/* Memory operations in batches; see memop.h. */
#include "shim/gds/cuda/memop.h"

#include <errno.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

/* The form of these calls that came with CUDA 11.7 has operations of 32 bits on
 * every GPU; whether the platform lets them work shows when one is queued. */
unsigned mgds_memop_width(const struct mgds_context *ctx)
{
    const struct mgds_driver *driver = mgds_driver();
    int wide = 0;

    if (!driver->cuStreamBatchMemOp)
        return 0;
    mgds_cu(driver->cuDeviceGetAttribute(
        &wide, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, ctx->device));
    return wide ? 64 : 32;
}

static CUstreamBatchMemOpType type_of(bool wait, unsigned width)
{
    if (wait)
        return width == 64 ? CU_STREAM_MEM_OP_WAIT_VALUE_64
                           : CU_STREAM_MEM_OP_WAIT_VALUE_32;
    return width == 64 ? CU_STREAM_MEM_OP_WRITE_VALUE_64
                       : CU_STREAM_MEM_OP_WRITE_VALUE_32;
}

/* A wait and a write have one layout; the flags 0 mean >= in the one, and a
 * barrier before it in the other. */
int mgds_memop_queue(void *stream, unsigned width, const struct mgds_memop *ops,
                     unsigned count)
{
    CUstreamBatchMemOpParams params[MGDS_MEMOP_MOST];

    if (count == 0 || count > MGDS_MEMOP_MOST || width == 0)
        return -EINVAL;
    for (unsigned i = 0; i < count; i++) {
        params[i] = (CUstreamBatchMemOpParams){0};
        params[i].waitValue.operation = type_of(ops[i].wait, width);
        params[i].waitValue.address = (CUdeviceptr)(uintptr_t)ops[i].word;
        params[i].waitValue.value64 = ops[i].value;
        params[i].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    }
    return mgds_cu(mgds_driver()->cuStreamBatchMemOp(stream, count, params, 0));
}

static CUstreamBatchMemOpParams store_of(unsigned width, uint64_t address,
                                         uint64_t value)
{
    CUstreamBatchMemOpParams store = {0};

    store.waitValue.operation = type_of(false, width);
    store.waitValue.address = address;
    store.waitValue.value64 = value;
    return store;
}

/* Each write has a barrier before it: the record is there before the doorbell,
 * and before both whatever the stream did. */
int mgds_memop_ring(void *stream, const struct mgds_memop_bell *bell)
{
    CUstreamBatchMemOpParams stores[] = {
        store_of(32, bell->record, bell->record_value),
        store_of(64, bell->doorbell, bell->doorbell_value)};

    return mgds_cu(mgds_driver()->cuStreamBatchMemOp(stream, 2, stores, 0));
}
