/* What the device folder offers to host code: the image to load into a GPU, and
 * the kernels compiled for the host. Which of them an object links is its
 * choice (device/CMakeLists.txt). */
#ifndef MGDS_DEVICE_KERNELS_H
#define MGDS_DEVICE_KERNELS_H

#include <stddef.h>

#include "device/impl/kernel.h"

/* A fat binary for cuModuleLoadData, 16-byte aligned; without nvcc a stub that
 * only the software GPU loads. */
extern const unsigned char mgds_kernel_image[];
extern const size_t mgds_kernel_image_size;

extern const struct mgds_kernel_table mgds_host_kernels;

#endif
