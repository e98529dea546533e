/* Finds libcuda.so.1 and its calls. */
#include "osu-extensions/libcuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/gds/cuda/driver_abi.h"

typedef CUresult (*get_proc_fn)(const char *symbol, void **found, int version,
                                cuuint64_t flags,
                                CUdriverProcAddressQueryResult *status);

static get_proc_fn get_proc;

int mgds_libcuda_open(char why[256])
{
    void *library;
    void *entry;

    if (get_proc)
        return 0;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, 256,
                 "no CUDA driver (%.120s): install one, or put the software "
                 "GPU's folder in LD_LIBRARY_PATH",
                 dlerror());
        return -ENODEV;
    }
    entry = dlsym(library, "cuGetProcAddress_v2");
    if (!entry) {
        snprintf(why, 256,
                 "libcuda.so.1 has no cuGetProcAddress_v2: install a driver "
                 "for CUDA 12 or newer");
        return -ENODEV;
    }
    memcpy(&get_proc, &entry, sizeof(get_proc));
    return 0;
}

void *mgds_libcuda_find(const char *name, int version)
{
    CUdriverProcAddressQueryResult status;
    void *found = NULL;
    CUresult rc = get_proc(name, &found, version,
                           CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);

    return rc == CUDA_SUCCESS ? found : NULL;
}

void *mgds_libcuda_need(const char *name, int version, char why[256])
{
    void *found = mgds_libcuda_find(name, version);

    if (!found)
        snprintf(why, 256,
                 "libcuda.so.1 lacks %s: install a driver for CUDA 12 or newer",
                 name);
    return found;
}
