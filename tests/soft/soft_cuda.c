/* The driver as a program of a user would call it; see soft_cuda.h. */
#include "tests/soft/soft_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "shim/gds/cuda/presence.h"

struct soft_cuda cu;

static int find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof(found));
    if (!found)
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
    return found == NULL;
}

int soft_cuda_load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int missing = 0;

    if (!library) {
        fprintf(stderr, "libcuda.so.1 cannot be loaded\n");
        return 1;
    }
#define X(name, params) missing |= find(library, #name, &cu.name);
    SOFT_CALLS(X)
#undef X
    return missing || !mgds_presence_scan();
}
