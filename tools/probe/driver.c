/* The CUDA driver; see driver.h. */
#include "tools/probe/driver.h"

#include <dlfcn.h>
#include <string.h>

struct symbol {
    size_t offset;
    const char *name;
};

#define X(member, symbol, params)                                              \
    {offsetof(struct mgds_probe_driver, member), symbol},
static const struct symbol look[] = {MGDS_PROBE_LOOK(X)};
static const struct symbol use[] = {MGDS_PROBE_USE(X)};
#undef X

void *mgds_probe_driver_load(void)
{
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

static const char *fill(struct mgds_probe_driver *cuda, void *library,
                        const struct symbol *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, row[i].name);

        if (!symbol)
            return row[i].name;
        memcpy((char *)cuda + row[i].offset, &symbol, sizeof(symbol));
    }
    return NULL;
}

const char *mgds_probe_driver_look(struct mgds_probe_driver *cuda,
                                   void *library)
{
    return fill(cuda, library, look, sizeof(look) / sizeof(look[0]));
}

const char *mgds_probe_driver_use(struct mgds_probe_driver *cuda, void *library)
{
    const char *missing = mgds_probe_driver_look(cuda, library);

    return missing ? missing
                   : fill(cuda, library, use, sizeof(use) / sizeof(use[0]));
}

const char *mgds_probe_driver_error(const struct mgds_probe_driver *cuda,
                                    int error)
{
    const char *name = NULL;

    if (cuda->error_name(error, &name) != 0 || !name)
        return "unknown error";
    return name;
}
