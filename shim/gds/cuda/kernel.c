/* Modules and launches; see kernel.h. */
#include "shim/gds/cuda/kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

struct mgds_kernel_handle {
    struct mgds_context *ctx;
    CUmodule module;
    CUfunction function;
    unsigned attributes; /* how many of those in launch are for its device */
    struct mgds_deferred deferred;
};

static bool can_load(const struct mgds_driver *driver)
{
    return driver->cuModuleLoadData && driver->cuModuleUnload &&
           driver->cuModuleGetFunction && driver->cuLaunchKernelEx;
}

/* All that a driver says of an image it cannot use means the same here. */
static int load_module(CUmodule *module, const void *image)
{
    int rc = mgds_cu(mgds_driver()->cuModuleLoadData(module, image));

    return rc == 0 || rc == -ENOMEM || rc == -ESHUTDOWN ? rc : -ENOTSUP;
}

static int load_kernel(struct mgds_kernel_handle *kernel, const void *image,
                       const char *name)
{
    int rc = mgds_context_enter(kernel->ctx);

    if (rc < 0)
        return rc;
    rc = load_module(&kernel->module, image);
    if (rc == 0) {
        rc = mgds_cu(mgds_driver()->cuModuleGetFunction(&kernel->function,
                                                        kernel->module, name));
        if (rc < 0)
            mgds_cu(mgds_driver()->cuModuleUnload(kernel->module));
    }
    mgds_context_leave();
    return rc;
}

static int attribute_of(const struct mgds_context *ctx,
                        CUdevice_attribute which)
{
    int value = 0;

    mgds_cu(mgds_driver()->cuDeviceGetAttribute(&value, which, ctx->device));
    return value;
}

unsigned mgds_kernel_processors(const struct mgds_context *ctx)
{
    int count = attribute_of(ctx, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);

    return count > 0 ? (unsigned)count : 0;
}

/* Older ones know no launch ahead of the kernel before. */
static bool launches_early(const struct mgds_context *ctx)
{
    return attribute_of(ctx, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9;
}

int mgds_kernel_load(struct mgds_kernel_handle **out, struct mgds_context *ctx,
                     const void *image, const char *name)
{
    struct mgds_kernel_handle *kernel;
    int rc;

    if (!can_load(mgds_driver()))
        return -ENOTSUP;
    kernel = (struct mgds_kernel_handle *)mgds_calloc(1, sizeof(*kernel));
    if (!kernel)
        return -ENOMEM;
    kernel->ctx = mgds_context_get(ctx);
    kernel->attributes = launches_early(ctx);
    rc = load_kernel(kernel, image, name);
    if (rc < 0) {
        mgds_context_put(ctx);
        free(kernel);
        return rc;
    }
    *out = kernel;
    return 0;
}

static void unload_module(struct mgds_deferred *item)
{
    struct mgds_kernel_handle *kernel =
        MGDS_CONTAINER_OF(item, struct mgds_kernel_handle, deferred);

    if (mgds_context_lives(kernel->ctx) &&
        mgds_context_enter(kernel->ctx) == 0) {
        mgds_cu(mgds_driver()->cuModuleUnload(kernel->module));
        mgds_context_leave();
    }
    mgds_context_put(kernel->ctx);
    free(kernel);
}

void mgds_kernel_unload(struct mgds_kernel_handle *kernel)
{
    kernel->deferred.run = unload_module;
    mgds_defer(&kernel->deferred);
}

int mgds_kernel_launch(struct mgds_kernel_handle *kernel, void *stream,
                       unsigned blocks, unsigned threads, const void *args)
{
    void *params[] = {(void *)(uintptr_t)args};
    CUlaunchAttribute early = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value = {.programmaticStreamSerializationAllowed = 1}};
    const CUlaunchConfig config = {.gridDimX = blocks,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = threads,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream,
                                   .attrs = &early,
                                   .numAttrs = kernel->attributes};

    return mgds_cu(mgds_driver()->cuLaunchKernelEx(&config, kernel->function,
                                                   params, NULL));
}
