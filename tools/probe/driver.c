/* The CUDA driver; see driver.h. */
#include "tools/probe/driver.h"

#include <dlfcn.h>

#include "tools/probe/symbols.h"

#define X(member, symbol, params)                                              \
    {offsetof(struct mgds_probe_driver, member), symbol},
static const struct mgds_symbol look[] = {MGDS_PROBE_LOOK(X)};
static const struct mgds_symbol use[] = {MGDS_PROBE_USE(X)};
#undef X

void *mgds_probe_driver_load(void)
{
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

const char *mgds_probe_driver_look(struct mgds_probe_driver *cuda,
                                   void *library)
{
    return mgds_symbols_find(cuda, library, look,
                             sizeof(look) / sizeof(look[0]));
}

const char *mgds_probe_driver_use(struct mgds_probe_driver *cuda, void *library)
{
    const char *missing = mgds_probe_driver_look(cuda, library);

    return missing ? missing
                   : mgds_symbols_find(cuda, library, use,
                                       sizeof(use) / sizeof(use[0]));
}

json_t *mgds_probe_driver_error(const struct mgds_probe_driver *cuda,
                                const char *call, int error)
{
    const char *name = NULL;

    if (cuda->error_name(error, &name) != 0 || !name)
        name = "unknown error";
    return json_sprintf("%s: %s (%d)", call, name, error);
}
