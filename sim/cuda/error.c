/* Names and texts of driver results, from the one table of them. */
#include "sim/cuda/state.h"

static const struct result {
    CUresult value;
    const char *name, *text;
} results[] = {
#define RESULT(name, value, text) {name, #name, text},
#include "shim/gds/cuda/driver_results.def"
#undef RESULT
};

static const struct result *find(CUresult error)
{
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
        if (results[i].value == error)
            return &results[i];
    }
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    const struct result *result = find(error);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = result ? result->name : NULL;
    return result ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    const struct result *result = find(error);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = result ? result->text : NULL;
    return result ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
