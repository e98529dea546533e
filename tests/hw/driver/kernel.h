/* Two kernels that exist for the GPU and, under the same names, for the
 * software GPU. Both take one struct by value; what it means is said in
 * device/abi.h, whose layout the structs here have. */
#ifndef MGDS_HW_KERNEL_H
#define MGDS_HW_KERNEL_H

#include <stdint.h>

#include "driver.h"

struct mgds_copy_args {
    uint64_t dst, src, bytes;
    uint64_t flag, ticket, value;
};

struct mgds_flag_args {
    uint64_t wait, wait_value;
    uint64_t write, write_value;
    uint64_t abort;
};

extern const char mgds_kernel_image[];

/* The kernel in the current context; its module stays loaded. Aborts. */
CUfunction mgds_copy_function(void);
CUfunction mgds_flag_function(void);

/* One thread of a kernel with its argument struct. */
CUresult mgds_kernel_launch(CUfunction function, CUstream stream, void *args);

/* *to = value, eight bytes, by a kernel in the stream. */
CUresult mgds_kernel_store(CUstream stream, CUdeviceptr to, uint64_t value);

#endif
