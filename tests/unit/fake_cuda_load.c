/* The test's side of fake_cuda.c. */
#include "tests/unit/fake_cuda.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/cuda/presence.h"

static unsigned (*depth)(void);
static CUcontext (*top)(void);
static void (*set_top)(CUcontext ctx);

static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    assert_non_null(found);
    memcpy(function, &found, sizeof(found));
}

struct fake_cuda *fake_cuda_load(void)
{
    void *library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    struct fake_cuda *fake;

    assert_non_null(library);
    find(library, "fake_depth", &depth);
    find(library, "fake_top", &top);
    find(library, "fake_set_top", &set_top);
    find(library, "fake_script", &fake);
    assert_true(mgds_presence_scan());
    fake_cuda_reset(fake);
    return fake;
}

void fake_cuda_reset(struct fake_cuda *fake)
{
    *fake = (struct fake_cuda){.version = 13000, .devices = 1};
    set_top(NULL);
}

unsigned fake_cuda_depth(void)
{
    return depth();
}

CUcontext fake_cuda_top(void)
{
    return top();
}

void fake_cuda_set_top(CUcontext ctx)
{
    set_top(ctx);
}
