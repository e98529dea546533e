/* NVTX ranges; see nvtx.h. The only file that knows nvtx3; built only where
 * it was found. */
#include "shim/base/nvtx.h"

#include <nvtx3/nvToolsExt.h>

atomic_bool mgds_nvtx_on;

void mgds_nvtx_enable(void)
{
    atomic_store_explicit(&mgds_nvtx_on, true, memory_order_relaxed);
}

void mgds_nvtx_range_push(const char *name)
{
    nvtxRangePushA(name);
}

void mgds_nvtx_range_pop(void)
{
    nvtxRangePop();
}
