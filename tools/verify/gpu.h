/* What messages in GPU memory rely on, tried with the first GPU of this
 * machine: that an HCA reaches its memory, and that a stream of it rings an
 * HCA. */
#ifndef MGDS_TOOLS_VERIFY_GPU_H
#define MGDS_TOOLS_VERIFY_GPU_H

#include "shim/gds/hca/pci.h"
#include "shim/gds/hca/selftest.h"

struct mgds_verify_gpu;

/* Loads and starts CUDA. NULL: there is no GPU, or no memory of it. */
struct mgds_verify_gpu *mgds_verify_gpu_open(void);
void mgds_verify_gpu_close(struct mgds_verify_gpu *gpu); /* NULL is allowed */

const struct mgds_pci *mgds_verify_gpu_pci(const struct mgds_verify_gpu *gpu);

/* As mgds_selftest_run. */
unsigned mgds_verify_gpu_run(struct mgds_verify_gpu *gpu,
                             struct mgds_rail *rail, mgds_selftest_fn tell,
                             void *arg);

#endif
