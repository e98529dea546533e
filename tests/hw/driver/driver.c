/* Loads the driver for the list; touches nothing but libcuda.so.1. */
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

struct mgds_driver cu;

static void *library;
static int missing;

#define X(name, version)                                                       \
    static CUresult missing_##name(void)                                       \
    {                                                                          \
        mgds_case_abort("driver.def", 0,                                       \
                        "the driver has no cu" #name " of version " #version); \
    }
#include "driver.def"
#undef X

struct row {
    const char *name;
    int version;
    size_t place; /* of the pointer in struct mgds_driver */
    CUresult (*stub)(void);
};

static const struct row rows[] = {
#define X(name, version)                                                       \
    {"cu" #name, version, offsetof(struct mgds_driver, name), missing_##name},
#include "driver.def"
#undef X
};

static void fill(const struct row *row)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult status;
    CUresult rc = cu.GetProcAddress(row->name, &found, row->version,
                                    CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
    char *place = (char *)&cu + row->place;

    if (rc == CUDA_SUCCESS && found) {
        memcpy(place, &found, sizeof(found));
        return;
    }
    missing++;
    memcpy(place, &row->stub, sizeof(row->stub));
}

int mgds_driver_load(char *why, size_t size)
{
    void *entry;

    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, size,
                 "%s: install a driver, or put the software "
                 "GPU's folder in LD_LIBRARY_PATH",
                 dlerror());
        return -1;
    }
    entry = dlsym(library, "cuGetProcAddress_v2");
    if (!entry) {
        snprintf(why, size,
                 "%s has no cuGetProcAddress_v2: the list needs a driver "
                 "for CUDA 12 or newer",
                 mgds_driver_path());
        return -1;
    }
    memcpy(&cu.GetProcAddress, &entry, sizeof(entry));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        fill(&rows[i]);
    return 0;
}

int mgds_driver_missing(void)
{
    return missing;
}

const char *mgds_driver_path(void)
{
    struct link_map *map;

    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map))
        return "libcuda.so.1";
    return map->l_name;
}
