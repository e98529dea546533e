/* cuGetProcAddress over the list of calls, and the per-thread twins. */
#include <string.h>

#include "sim/cuda/state.h"

struct row {
    const char *base;
    int version;
    void (*plain)(void), (*per_thread)(void);
};

static const struct row rows[] = {
#define CALL(base, symbol, version, params)                                    \
    {#base, version, (void (*)(void))symbol, NULL},
#define TWIN(base, symbol, suffix, version, params, args)                      \
    {#base, version, (void (*)(void))symbol, (void (*)(void))symbol##suffix},
#include "sim/cuda/calls.def"
#undef CALL
#undef TWIN
};

/* In a twin, stream 0 is the calling thread's own stream. Twins nest (a
 * cuGetProcAddress'd twin calls the plain symbol), so the old value returns. */
#define CALL(base, symbol, version, params)
#define TWIN(base, symbol, suffix, version, params, args)                      \
    CUresult symbol##suffix params                                             \
    {                                                                          \
        bool before = mgds_gpu_thread.per_thread;                              \
        CUresult rc;                                                           \
        mgds_gpu_thread.per_thread = true;                                     \
        rc = symbol args;                                                      \
        mgds_gpu_thread.per_thread = before;                                   \
        return rc;                                                             \
    }
#include "sim/cuda/calls.def"
#include "shim/base/log.h"
#undef CALL
#undef TWIN

/* Known in some version. */
static bool is_call(const char *symbol)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (strcmp(rows[i].base, symbol) == 0)
            return true;
    }
    return false;
}

/* The newest form not newer than `version`. */
static const struct row *find(const char *symbol, int version)
{
    const struct row *best = NULL;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *row = &rows[i];

        if (row->version > version || strcmp(row->base, symbol) != 0)
            continue;
        if (!best || row->version >= best->version)
            best = row;
    }
    return best;
}

static CUresult look_up(const char *symbol, void **pfn, int version,
                        cuuint64_t flags, CUdriverProcAddressQueryResult *found)
{
    const struct row *row = find(symbol, version);
    void (*call)(void);

    *found = CU_GET_PROC_ADDRESS_SUCCESS;
    *pfn = NULL;
    if (!row && is_call(symbol))
        *found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    else if (!row)
        *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!row) /* no error of the call: the pointer and *found tell */
        return CUDA_SUCCESS;
    call = row->plain;
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM &&
        row->per_thread)
        call = row->per_thread;
    memcpy(pfn, &call, sizeof(*pfn));
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    CUdriverProcAddressQueryResult ignored;

    if (!symbol || !pfn || flags > 2)
        return CUDA_ERROR_INVALID_VALUE;
    return look_up(symbol, pfn, version, flags, found ? found : &ignored);
}

/* The first form has no status to tell by. */
CUresult cuGetProcAddress(const char *symbol, void **pfn, int version,
                          cuuint64_t flags)
{
    CUresult rc = cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);

    return rc == CUDA_SUCCESS && !*pfn ? CUDA_ERROR_NOT_FOUND : rc;
}

/* The CUDA runtime's way into the driver: undocumented tables. */
CUresult cuGetExportTable(const void **exports, const CUuuid *id)
{
    static atomic_bool told;

    (void)id;
    if (!exports)
        return CUDA_ERROR_INVALID_VALUE;
    *exports = NULL;
    if (!atomic_exchange(&told, true))
        mgds_warn("software GPU: CUDA runtime programs do not run on the "
                  "software GPU: "
                  "it offers the driver API");
    return CUDA_ERROR_NOT_SUPPORTED;
}
