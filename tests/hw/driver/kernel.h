/* The list's own kernels, as PTX text: the driver compiles them for whatever
 * device there is. The software GPU finds the same names compiled for the
 * host. */
#ifndef MGDS_HW_KERNEL_H
#define MGDS_HW_KERNEL_H

#include <stdint.h>

#include "driver.h"

enum mgds_kernel {
    KERNEL_STORE, /* (u32 *to, u32 value): one 32-bit release store */
    KERNEL_SPIN,  /* (u32 *flag, u32 *to, u32 value): until flag is not 0 */
    KERNEL_COUNT, /* (u32 *to): every thread adds one */
    KERNEL_COPY,  /* (u32 *to, u32 *from, u32 words): a word a thread */
    KERNELS,
};

extern const char mgds_kernel_image[];
const char *mgds_kernel_name(enum mgds_kernel kernel);

/* The kernel in the current context; its module stays loaded. Aborts. */
CUfunction mgds_kernel(enum mgds_kernel kernel);

/* One thread. `params` as for cuLaunchKernel. */
CUresult mgds_kernel_launch(CUfunction function, CUstream stream,
                            void **params);

/* KERNEL_STORE in the stream. */
CUresult mgds_kernel_store(CUstream stream, CUdeviceptr to, uint32_t value);

#endif
