/* Modules and launches; see kernel.h. */
#include "shim/gds/cuda/kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

struct mgds_kernel_handle {
    struct mgds_context *ctx;
    CUmodule module;
    CUfunction function;
    struct mgds_deferred deferred;
};

static bool can_load(const struct mgds_driver *driver)
{
    return driver->cuModuleLoadData && driver->cuModuleUnload &&
           driver->cuModuleGetFunction && driver->cuLaunchKernel;
}

/* All that a driver says of an image it cannot use means the same here. */
static int load_module(CUmodule *module, const void *image)
{
    int rc = mgds_cu(mgds_driver()->cuModuleLoadData(module, image));

    return rc == 0 || rc == -ENOMEM || rc == -ESHUTDOWN ? rc : -ENOTSUP;
}

static int load(struct mgds_kernel_handle *kernel, const void *image,
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
    rc = load(kernel, image, name);
    if (rc < 0) {
        mgds_context_put(ctx);
        free(kernel);
        return rc;
    }
    *out = kernel;
    return 0;
}

static void unload(struct mgds_deferred *item)
{
    struct mgds_kernel_handle *kernel =
        (struct mgds_kernel_handle *)(void *)((char *)item -
                                              offsetof(
                                                  struct mgds_kernel_handle,
                                                  deferred));

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
    kernel->deferred.run = unload;
    mgds_defer(&kernel->deferred);
}

int mgds_kernel_launch(struct mgds_kernel_handle *kernel, void *stream,
                       unsigned blocks, unsigned threads, const void *args)
{
    void *params[] = {(void *)(uintptr_t)args};

    return mgds_cu(mgds_driver()->cuLaunchKernel(kernel->function, blocks, 1, 1,
                                                 threads, 1, 1, 0, stream,
                                                 params, NULL));
}
