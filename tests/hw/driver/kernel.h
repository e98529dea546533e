/* Two kernels of the library, by their names: device/abi.h says what they do.
 * The list brings them as PTX text of its own, so that it does not depend on
 * what the library's image can do; the software GPU finds the names compiled
 * for the host. */
#ifndef MGDS_HW_KERNEL_H
#define MGDS_HW_KERNEL_H

#include <stdint.h>

#include "device/abi.h"
#include "driver.h"

extern const char mgds_list_ptx[];

/* The kernel in the current context; its module stays loaded. Aborts. */
CUfunction mgds_copy_function(void);
CUfunction mgds_flag_function(void);

/* One thread of a kernel with its argument struct. */
CUresult mgds_kernel_launch(CUfunction function, CUstream stream, void *args);

/* *to = value, eight bytes, by a kernel in the stream. */
CUresult mgds_kernel_store(CUstream stream, CUdeviceptr to, uint64_t value);

#endif
