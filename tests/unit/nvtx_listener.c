/* Stands for a profiler: loaded by nvtx3 through NVTX_INJECTION64_PATH, keeps
 * the names and the depth of ranges. The test reads them with dlsym. */
#include "tests/unit/nvtx_listener.h"

#include <stdio.h>

#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) struct nvtx_heard nvtx_heard;

static int NVTX_API push(const char *name)
{
    ++nvtx_heard.pushes;
    snprintf(nvtx_heard.last, sizeof(nvtx_heard.last), "%s", name);
    return nvtx_heard.pushes - nvtx_heard.pops - 1;
}

static int NVTX_API pop(void)
{
    ++nvtx_heard.pops;
    return nvtx_heard.pushes - nvtx_heard.pops;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks =
        (const NvtxExportTableCallbacks *)get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned count;
    if (!callbacks ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &count))
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
