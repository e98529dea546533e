/* A kernel that posts to a send queue as one thread of a GPU does, compiled for
 * the host: MPIX_SIM_KERNELS names the object. */
#include "tests/hca/front/gpu_kernels.h"

#include "device/abi_wqe.h"
#include "device/impl/kernel.h"

struct mgds_mem_window mgds_mem_window;

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* The last byte of a CQE is its highest one, and was written with the rest. */
static int is_complete(const struct post_args *a)
{
    uint64_t last = mgds_load_acquire64(pointer(a->cqe));
    unsigned op_own = (unsigned)(last >> 56);

    return op_own >> MGDS_CQE_OPCODE_SHIFT != MGDS_CQE_INVALID &&
           (op_own & MGDS_CQE_OWNER) == a->owner;
}

/* The HCA reads the record when it has found the register, and the block when
 * it has read the record: each is visible before the next one is written. */
static void post_body(const struct mgds_self *self, const struct post_args *a)
{
    uint64_t *block = pointer(a->block);

    if (self->thread > 0)
        return;
    for (unsigned i = 0; i < POST_BLOCK_WORDS; i++)
        mgds_store_relaxed64(&block[i], a->wqe[i]);
    mgds_store_release32(pointer(a->record), a->index);
    mgds_store_release64(pointer(a->uar), a->wqe[0]);
    while (!is_complete(a))
        mgds_self_pause(self);
}
MGDS_KERNEL(post, struct post_args)

static const struct mgds_kernel kernels[] = {
    MGDS_KERNEL_ROW(post, struct post_args),
};

__attribute__((visibility(
    "default"))) extern const struct mgds_kernel_table mgds_host_kernels;
const struct mgds_kernel_table mgds_host_kernels = {
    MGDS_KERNEL_ABI, sizeof(kernels) / sizeof(kernels[0]), &mgds_mem_window,
    kernels};
