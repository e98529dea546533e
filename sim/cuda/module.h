/* Modules and functions. Any image of the driver's kinds loads; its kernels are
 * looked up, by name, among those compiled for the host. Called locked. */
#ifndef MGDS_SIM_MODULE_H
#define MGDS_SIM_MODULE_H

#include "device/impl/kernel.h"
#include "sim/cuda/op.h"

struct mgds_gpu_module;

struct mgds_gpu_function {
    unsigned refs; /* its module, operations */
    const struct mgds_kernel *kernel;
    struct mgds_gpu_module *module;
    struct mgds_gpu_function *next; /* of the module */
    int dynamic_shared, carveout;   /* attributes that can be set */
};

/* Finds kernels: our own, those of the program, MPIX_SIM_KERNELS. Once. */
void mgds_kernels_open(void);

/* The function of a handle, not referenced; INVALID_HANDLE if it is none. */
CUresult mgds_function_find(CUfunction handle, struct mgds_gpu_function **out);

/* References: a queued launch holds one, so unloading a module harms none. */
void mgds_function_get(struct mgds_gpu_function *function);
void mgds_function_put(struct mgds_gpu_function *function);

/* True if it may be launched in that context: libraries are in all. */
bool mgds_function_is_of(const struct mgds_gpu_function *function,
                         const struct mgds_gpu_ctx *ctx);

/* The operation of a launch, parameters copied, or the driver's error: a bad
 * configuration, a function of another context, parameters that are not
 * there. The operation is the caller's. */
CUresult mgds_kernel_op(struct mgds_gpu_ctx *ctx, const CUlaunchConfig *config,
                        CUfunction handle, void **params, void **extra,
                        struct mgds_gpu_op **out);

#endif
