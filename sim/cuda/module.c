/* Modules, libraries, functions, and the registry of host-compiled kernels. */
#include "sim/cuda/module.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/kernels.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/window.h"
#include "shim/base/log.h"

#define TABLES_MAX 32
#define FATBIN_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u

struct mgds_gpu_module {
    struct mgds_gpu_ctx *ctx; /* NULL for a library */
    char *ptx;                /* the text, if it is one with kernels */
    struct mgds_gpu_function *functions;
};

static const struct mgds_kernel_table *tables[TABLES_MAX];
static unsigned table_count;

/* Kernels see device memory through a copy of the window in their object. */
static void add_table(const struct mgds_kernel_table *table, const char *where)
{
    if (table->abi != MGDS_KERNEL_ABI) {
        mgds_warn(
            "software GPU: %s: kernels of version %u, want %u: build it again",
            where, table->abi, MGDS_KERNEL_ABI);
        return;
    }
    for (unsigned i = 0; i < table_count; i++) {
        if (tables[i] == table)
            return;
    }
    if (table_count == TABLES_MAX)
        return;
    *table->window = mgds_window;
    tables[table_count++] = table;
}

static void add_object(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct mgds_kernel_table *table;

    if (!object) {
        mgds_warn("software GPU: MPIX_SIM_KERNELS: %s", dlerror());
        return;
    }
    table = dlsym(object, "mgds_host_kernels");
    if (table)
        add_table(table, path);
    else
        mgds_warn("software GPU: MPIX_SIM_KERNELS: %s has no mgds_host_kernels",
                  path);
}

void mgds_kernels_open(void)
{
    const struct mgds_kernel_table *program =
        dlsym(RTLD_DEFAULT, "mgds_host_kernels");
    char *list = strdup(mgds_gpu.cfg.kernels), *rest = list, *path;

    add_table(&mgds_host_kernels, "libcuda.so.1");
    if (program)
        add_table(program, "the program");
    while (rest && (path = strsep(&rest, ":")) != NULL) {
        if (*path)
            add_object(path);
    }
    free(list);
}

/* The first table that has it: the library's own before the program's. */
static const struct mgds_kernel *find_kernel(const char *name)
{
    for (unsigned t = 0; t < table_count; t++) {
        for (unsigned i = 0; i < tables[t]->count; i++) {
            if (strcmp(tables[t]->kernels[i].name, name) == 0)
                return &tables[t]->kernels[i];
        }
    }
    return NULL;
}

static uint32_t magic_of(const void *image)
{
    uint32_t magic;

    memcpy(&magic, image, sizeof(magic));
    return magic;
}

/* Text up to its end, if it looks like PTX. */
static bool is_ptx(const char *image)
{
    while (*image == ' ' || *image == '\n' || *image == '\t' || *image == '\r')
        image++;
    return strncmp(image, "//", 2) == 0 || strncmp(image, ".version", 8) == 0;
}

/* Only what kind of image it is: none is executed. PTX is text, and wrong
 * text is told from wrong bytes. */
static CUresult judge_image(const void *image, bool *ptx)
{
    uint32_t magic = magic_of(image);

    *ptx = false;
    if (magic == FATBIN_MAGIC || magic == WRAPPER_MAGIC ||
        memcmp(image, "\177ELF", 4) == 0)
        return CUDA_SUCCESS;
    if (!is_ptx(image))
        return CUDA_ERROR_INVALID_IMAGE;
    *ptx = true;
    return strstr(image, ".version") && strstr(image, ".target")
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_PTX;
}

static CUresult load(struct mgds_gpu_ctx *ctx, const void *image,
                     struct mgds_gpu_module **out)
{
    struct mgds_gpu_module *module;
    bool ptx;
    CUresult rc;

    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    rc = judge_image(image, &ptx);
    if (rc != CUDA_SUCCESS)
        return rc;
    module = mgds_gpu_calloc(1, sizeof(*module));
    module->ctx = ctx;
    module->ptx = ptx && strstr(image, ".entry") ? strdup(image) : NULL;
    mgds_handle_add(MGDS_HANDLE_MODULE, module);
    *out = module;
    return CUDA_SUCCESS;
}

static CUresult module_load(struct mgds_gpu_ctx *ctx, CUmodule *out,
                            const void *image)
{
    struct mgds_gpu_module *module;
    CUresult rc;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    rc = load(ctx, image, &module);
    if (rc != CUDA_SUCCESS)
        return rc;
    /* as the driver does before it puts code on the device */
    mgds_gpu_device_wait(ctx->device);
    *out = (CUmodule)(void *)module;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             module_load(call.ctx, module, image));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values)
{
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return cuModuleLoadData(module, image);
}

static CUresult find_module(const void *handle, struct mgds_gpu_module **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_MODULE, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = (struct mgds_gpu_module *)(uintptr_t)handle;
    return CUDA_SUCCESS;
}

/* Functions that a queued launch still uses live on. */
static CUresult unload(const void *handle)
{
    struct mgds_gpu_module *module;
    CUresult rc = find_module(handle, &module);

    if (rc != CUDA_SUCCESS)
        return rc;
    while (module->functions) {
        struct mgds_gpu_function *function = module->functions;

        module->functions = function->next;
        mgds_handle_drop(function);
        mgds_function_put(function);
    }
    mgds_handle_drop(module);
    free(module->ptx);
    free(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE, unload(module));
}

/* PTX says which kernels it has (a build without nvcc has an image without
 * any: then all count); one that nobody compiled for the host is the user's to
 * provide. */
static const struct mgds_kernel *kernel_of(const struct mgds_gpu_module *module,
                                           const char *name)
{
    const struct mgds_kernel *kernel = find_kernel(name);
    const char *at = module->ptx ? strstr(module->ptx, name) : NULL;

    if (!module->ptx || !at)
        return module->ptx ? NULL : kernel;
    if (!kernel)
        mgds_warn("software GPU: kernel %s is not compiled for the host: name "
                  "the object "
                  "that has it in MPIX_SIM_KERNELS",
                  name);
    return kernel;
}

static struct mgds_gpu_function *known(const struct mgds_gpu_module *module,
                                       const struct mgds_kernel *kernel)
{
    struct mgds_gpu_function *function = module->functions;

    while (function && function->kernel != kernel)
        function = function->next;
    return function;
}

static CUresult get_function(const void *handle, const char *name,
                             struct mgds_gpu_function **out)
{
    const struct mgds_kernel *kernel;
    struct mgds_gpu_module *module;
    CUresult rc = find_module(handle, &module);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    kernel = kernel_of(module, name);
    if (!kernel)
        return CUDA_ERROR_NOT_FOUND;
    *out = known(module, kernel);
    if (*out)
        return CUDA_SUCCESS;
    *out = mgds_gpu_calloc(1, sizeof(**out));
    (*out)->refs = 1;
    (*out)->kernel = kernel;
    (*out)->module = module;
    (*out)->carveout = -1;
    (*out)->next = module->functions;
    module->functions = *out;
    mgds_handle_add(MGDS_HANDLE_FUNCTION, *out);
    return CUDA_SUCCESS;
}

static CUresult module_function(CUfunction *out, CUmodule module,
                                const char *name)
{
    struct mgds_gpu_function *function;
    CUresult rc;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    rc = get_function(module, name, &function);
    if (rc == CUDA_SUCCESS)
        *out = (CUfunction)(void *)function;
    return rc;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name)
{
    MGDS_API(call, MGDS_NEED_CTX, module_function(function, module, name));
}

static CUresult library_load(CUlibrary *out, const void *code)
{
    struct mgds_gpu_module *module;
    CUresult rc;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    rc = load(NULL, code, &module);
    if (rc == CUDA_SUCCESS)
        *out = (CUlibrary)(void *)module;
    return rc;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code,
                           CUjit_option *jit, void **jit_values,
                           unsigned jit_count, CUlibraryOption *options,
                           void **values, unsigned count)
{
    if ((jit_count && (!jit || !jit_values)) ||
        (count && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, library_load(library, code));
}

CUresult cuLibraryUnload(CUlibrary library)
{
    MGDS_API(call, MGDS_NEED_INIT, unload(library));
}

static CUresult library_kernel(CUkernel *out, CUlibrary library,
                               const char *name)
{
    struct mgds_gpu_function *function;
    CUresult rc;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    rc = get_function(library, name, &function);
    if (rc == CUDA_SUCCESS)
        *out = (CUkernel)(void *)function;
    return rc;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library,
                            const char *name)
{
    MGDS_API(call, MGDS_NEED_INIT, library_kernel(kernel, library, name));
}

static CUresult library_module(CUmodule *out, CUlibrary library)
{
    struct mgds_gpu_module *module;
    CUresult rc = find_module(library, &module);

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *out = (CUmodule)(void *)module;
    return rc;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    MGDS_API(call, MGDS_NEED_CTX, library_module(module, library));
}

CUresult mgds_function_find(CUfunction handle, struct mgds_gpu_function **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_FUNCTION, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = (struct mgds_gpu_function *)(void *)handle;
    return CUDA_SUCCESS;
}

bool mgds_function_is_of(const struct mgds_gpu_function *function,
                         const struct mgds_gpu_ctx *ctx)
{
    return !function->module->ctx || function->module->ctx == ctx;
}

void mgds_function_get(struct mgds_gpu_function *function)
{
    function->refs++;
}

void mgds_function_put(struct mgds_gpu_function *function)
{
    if (--function->refs == 0)
        free(function);
}

/* A kernel of a library is a function in every context. */
static CUresult kernel_function(CUfunction *out, CUkernel kernel)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find((CUfunction)(void *)kernel, &function);

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *out = (CUfunction)(void *)function;
    return rc;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    MGDS_API(call, MGDS_NEED_CTX, kernel_function(function, kernel));
}

static CUresult function_module(CUmodule *out, CUfunction handle)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find(handle, &function);

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *out = (CUmodule)(void *)function->module;
    return rc;
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
    MGDS_API(call, MGDS_NEED_INIT, function_module(module, function));
}

static CUresult function_name(const char **name, CUfunction handle)
{
    struct mgds_gpu_function *function;
    CUresult rc = mgds_function_find(handle, &function);

    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *name = function->kernel->name;
    return rc;
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
    MGDS_API(call, MGDS_NEED_INIT, function_name(name, function));
}
