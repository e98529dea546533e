/*
 * A program's own kernels on the software GPU, which executes no code for GPUs:
 * the same kernels, compiled for the host. An object that exports the table
 * `mgds_host_kernels` has them; name its file in MPIX_SIM_KERNELS. Nothing of
 * this is used on a real GPU. (docs/sim-gpu.md)
 */
#ifndef MPIX_GDS_SIM_KERNEL_H
#define MPIX_GDS_SIM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define MPIX_GDS_SIM_KERNEL_ABI 1

/* The place of a running thread in its launch. The software GPU runs few
 * threads a block, often one, whatever the launch says: a kernel must be right
 * for any number. */
struct mpix_gds_sim_self {
    unsigned thread, threads; /* of the block */
    unsigned block, blocks;   /* of the grid */
    const void *calls;        /* the software GPU's own */
    void *host;
};

/* A kernel and the sizes of its parameters, 0 behind the last. `run` gets the
 * address of each parameter, as cuLaunchKernel does. */
struct mpix_gds_sim_kernel {
    const char *name;
    void (*run)(const struct mpix_gds_sim_self *self,
                const void *const *params);
    size_t params[8];
};

/* The window of GPU memory, as the host sees it; the software GPU fills it. */
struct mpix_gds_sim_window {
    uintptr_t base;
    size_t size;
    size_t displacement;
};

struct mpix_gds_sim_table {
    unsigned abi; /* MPIX_GDS_SIM_KERNEL_ABI */
    unsigned count;
    struct mpix_gds_sim_window *window;
    const struct mpix_gds_sim_kernel *kernels;
};

/* The address at which a kernel on the host finds what the program has at
 * `address`. Other addresses than those of GPU memory mean themselves. */
static inline void *mpix_gds_sim_at(const struct mpix_gds_sim_window *window,
                                    const void *address)
{
    uintptr_t at = (uintptr_t)address;

    if (at - window->base < window->size)
        at += window->displacement;
    return (void *)at;
}

#endif
