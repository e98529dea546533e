/* Kernels through the calls of soft_cuda.h; see stage_door.h. */
#include "tests/soft/stage_door.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <cmocka.h>

#include "tests/soft/soft_cuda.h"

static int load(void **kernel, struct mgds_context *ctx, const void *image,
                const char *name)
{
    CUmodule module;
    CUfunction function;
    int rc = mgds_context_enter(ctx);

    if (rc < 0)
        return rc;
    OK(cu.cuModuleLoadData(&module, image));
    OK(cu.cuModuleGetFunction(&function, module, name));
    mgds_context_leave();
    *kernel = function;
    return 0;
}

static void unload(void *kernel, struct mgds_context *ctx)
{
    CUmodule module;

    if (!mgds_context_lives(ctx))
        return;
    assert_int_equal(mgds_context_enter(ctx), 0);
    OK(cu.cuFuncGetModule(&module, (CUfunction)kernel));
    OK(cu.cuModuleUnload(module));
    mgds_context_leave();
}

static int launch(void *kernel, void *stream, unsigned blocks, unsigned threads,
                  const void *args, size_t args_bytes)
{
    void *params[] = {(void *)(uintptr_t)args};
    CUresult rc = cu.cuLaunchKernel((CUfunction)kernel, blocks, 1, 1, threads,
                                    1, 1, 0, (CUstream)stream, params, NULL);

    (void)args_bytes;
    return rc == CUDA_SUCCESS ? 0 : -EIO;
}

const struct mgds_pack_door stage_door = {load, unload, launch};

static int refuse(void **kernel, struct mgds_context *ctx, const void *image,
                  const char *name)
{
    (void)kernel;
    (void)ctx;
    (void)image;
    (void)name;
    return -ENOTSUP;
}

const struct mgds_pack_door stage_door_refusing = {refuse, unload, launch};
