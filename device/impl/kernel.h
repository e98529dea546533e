/* How a kernel is written once and built twice: by nvcc as a __global__
 * function, by the host compiler as a function that the software GPU calls for
 * each thread it runs. C and C++.
 *
 * A kernel takes one struct by value and knows where it is from `self`. It may
 * be launched before the one ahead of it is through (mgds_kernel_launch): so
 * the first thing that each does is to wait for that. Code
 * must be right for any number of threads a block: the host runs few
 * (MPIX_SIM_BLOCK_THREADS), whatever the launch says. */
#ifndef MGDS_DEVICE_KERNEL_H
#define MGDS_DEVICE_KERNEL_H

#include "device/impl/mem.h"

/* What the software GPU does for a running kernel. */
struct mgds_self_calls {
    void (*sync)(void *host);  /* all threads of the block meet */
    void (*pause)(void *host); /* may end the kernel: its context died */
};

struct mgds_self {
    unsigned thread, threads; /* of the block */
    unsigned block, blocks;   /* of the grid */
#if !MGDS_ON_GPU
    const struct mgds_self_calls *calls;
    void *host;
#endif
};

/* A kernel compiled for the host; sizes of its parameters, 0 closes. */
struct mgds_kernel {
    const char *name;
    void (*run)(const struct mgds_self *self, const void *const *params);
    size_t params[8];
};

/* What an object with such kernels exports as `mgds_host_kernels`. */
#define MGDS_KERNEL_ABI 1
struct mgds_kernel_table {
    unsigned abi;
    unsigned count;
    struct mgds_mem_window *window; /* filled by the software GPU */
    const struct mgds_kernel *kernels;
};

#if MGDS_ON_GPU

MGDS_FN void mgds_block_sync(const struct mgds_self *self)
{
    (void)self;
    __syncthreads();
}

/* The same, and 1 if any thread of the block gave a word that is not 0. */
MGDS_FN uint32_t mgds_block_any(const struct mgds_self *self, uint64_t word)
{
    (void)self;
    return (uint32_t)__syncthreads_or(word != 0);
}

/* Between two polls of a kernel that waits. */
MGDS_FN void mgds_self_pause(const struct mgds_self *self)
{
    (void)self;
    mgds_mem_pause();
}

#define MGDS_KERNEL_OF(name, args_type, bounds, begin)                         \
    extern "C" __global__ void bounds name(args_type args)                     \
    {                                                                          \
        struct mgds_self self;                                                 \
        self.thread = threadIdx.x;                                             \
        self.threads = blockDim.x;                                             \
        self.block = blockIdx.x;                                               \
        self.blocks = gridDim.x;                                               \
        begin;                                                                 \
        name##_body(&self, &args);                                             \
    }

#define MGDS_KERNEL(name, args_type)                                           \
    MGDS_KERNEL_OF(name, args_type, , mgds_grid_wait())

/* It waits itself, on every way through it, and has read before only what no
 * kernel writes. */
#define MGDS_KERNEL_EARLY(name, args_type)                                     \
    MGDS_KERNEL_OF(name, args_type, , (void)0)

/* The same, in blocks of up to 1024 threads. */
#define MGDS_KERNEL_WIDE(name, args_type)                                      \
    MGDS_KERNEL_OF(name, args_type, __launch_bounds__(1024), (void)0)

#else

MGDS_FN void mgds_block_sync(const struct mgds_self *self)
{
    self->calls->sync(self->host);
}

/* Of words that are 0 (mgds_none_of): threads have nothing in common here. */
MGDS_FN uint32_t mgds_block_any(const struct mgds_self *self, uint64_t word)
{
    mgds_block_sync(self);
    return word != 0;
}

MGDS_FN void mgds_self_pause(const struct mgds_self *self)
{
    self->calls->pause(self->host);
}

#define MGDS_KERNEL(name, args_type)                                           \
    static void name##_host(const struct mgds_self *self,                      \
                            const void *const *params)                         \
    {                                                                          \
        name##_body(self, (const args_type *)params[0]);                       \
    }

#define MGDS_KERNEL_EARLY(name, args_type) MGDS_KERNEL(name, args_type)
#define MGDS_KERNEL_WIDE(name, args_type) MGDS_KERNEL(name, args_type)

#define MGDS_KERNEL_ROW(name, args_type)                                       \
    {                                                                          \
#name, name##_host,                                                    \
        {                                                                      \
            sizeof(args_type), 0                                               \
        }                                                                      \
    }

#endif

#endif
