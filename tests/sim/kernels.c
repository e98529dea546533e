/* Kernels of a program, compiled for the host as a shared object that
 * MPIX_SIM_KERNELS names. */
#include "tests/sim/kernels.h"

#include "device/impl/kernel.h"

struct mgds_mem_window mgds_mem_window;

/* Every block waits until all others have come, `rounds` times. */
static void meet_body(const struct mgds_self *self, const struct meet_args *a)
{
    uint32_t *arrived = (uint32_t *)(uintptr_t)a->arrived;

    for (uint32_t round = 1; round <= a->rounds; round++) {
        mgds_block_sync(self);
        if (self->thread == 0)
            mgds_add_gpu32(arrived, 1);
        while (mgds_load_acquire32(arrived) < round * self->blocks)
            mgds_self_pause(self);
    }
}
MGDS_KERNEL(meet, struct meet_args)

/* Each thread writes its number, then reads its neighbour's. */
static void pass_body(const struct mgds_self *self, const struct pass_args *a)
{
    uint64_t *words = (uint64_t *)(uintptr_t)a->words;
    uint64_t *mine = words + (size_t)self->block * 64;
    unsigned next = (self->thread + 1) % self->threads;
    struct mgds_unit unit = {self->thread, self->block};

    mgds_store16(mine + (size_t)self->thread * 2, unit);
    mgds_block_sync(self);
    unit = mgds_load16(mine + (size_t)next * 2);
    if (unit.data != next || unit.word != self->block)
        mgds_store_release64((uint64_t *)(uintptr_t)a->failed, 1);
    mgds_store_release64((uint64_t *)(uintptr_t)a->threads, self->threads);
}
MGDS_KERNEL(pass, struct pass_args)

static const struct mgds_kernel kernels[] = {
    MGDS_KERNEL_ROW(meet, struct meet_args),
    MGDS_KERNEL_ROW(pass, struct pass_args),
};

__attribute__((visibility(
    "default"))) extern const struct mgds_kernel_table mgds_host_kernels;
const struct mgds_kernel_table mgds_host_kernels = {
    MGDS_KERNEL_ABI, sizeof(kernels) / sizeof(kernels[0]), &mgds_mem_window,
    kernels};
