/* Finds what stands behind the interposed calls. */
#include "sim/hca/front/next.h"

#include <dlfcn.h>
#include <stdatomic.h>

static const char *const names[MGDS_HCA_NEXTS] = {
#define X(name) #name,
#include "sim/hca/front/next.def"
#undef X
};

void *mgds_hca_next(enum mgds_hca_next call)
{
    static _Atomic(void *) found[MGDS_HCA_NEXTS];
    void *at = atomic_load_explicit(&found[call], memory_order_relaxed);

    if (at)
        return at;
    at = dlsym(RTLD_NEXT, names[call]);
    atomic_store_explicit(&found[call], at, memory_order_relaxed);
    return at;
}
