/* Driver results to errno; see result.h. */
#include "shim/gds/cuda/result.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "shim/base/tls.h"
#include "shim/gds/cuda/driver.h"

struct row {
    CUresult result;
    int code;
};

/* What callers act on. The rest is -EIO. */
static const struct row rows[] = {
    {CUDA_ERROR_INVALID_VALUE, -EINVAL},
    {CUDA_ERROR_INVALID_HANDLE, -EINVAL},
    {CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM},
    {CUDA_ERROR_NOT_READY, -EAGAIN},
    /* no GPU, or not yet */
    {CUDA_ERROR_NOT_INITIALIZED, -ENODEV},
    {CUDA_ERROR_NO_DEVICE, -ENODEV},
    {CUDA_ERROR_INVALID_DEVICE, -ENODEV},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, -EBUSY},
    /* the driver or the context is gone, and what it held too */
    {CUDA_ERROR_DEINITIALIZED, -ESHUTDOWN},
    {CUDA_ERROR_INVALID_CONTEXT, -ESHUTDOWN},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, -ESHUTDOWN},
    /* not here, or not in this state */
    {CUDA_ERROR_NOT_PERMITTED, -EPERM},
    {CUDA_ERROR_NOT_SUPPORTED, -ENOTSUP},
    {CUDA_ERROR_STUB_LIBRARY, -ENOTSUP},
    {CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, -ENOTSUP},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, -ENOTSUP},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, -ENOTSUP},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, -ENOTSUP},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, -ENOTSUP},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, -ENOTSUP},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, -ENOTSUP},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, -ENOTSUP},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, -ENOTSUP},
    {CUDA_ERROR_CAPTURED_EVENT, -ENOTSUP},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, -EEXIST},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, -ENOENT},
    {CUDA_ERROR_NOT_FOUND, -ENOENT},
    {CUDA_ERROR_TIMEOUT, -ETIMEDOUT},
};

static MGDS_TLS CUresult last;

int mgds_cu(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return 0;
    last = result;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].result == result)
            return rows[i].code;
    }
    return -EIO;
}

struct words {
    CUresult result;
    const char *name, *text;
};

/* For drivers that are not there, or not one. */
static const struct words own[] = {
#define RESULT(name, value, text) {name, #name, text},
#include "shim/gds/cuda/driver_results.def"
#undef RESULT
};

static void own_words(CUresult result, const char **name, const char **text)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (own[i].result == result) {
            *name = own[i].name;
            *text = own[i].text;
        }
    }
}

static void driver_words(const struct mgds_driver *driver, CUresult result,
                         const char **name, const char **text)
{
    const char *said = NULL;

    if (!driver)
        return;
    if (driver->cuGetErrorName &&
        driver->cuGetErrorName(result, &said) == CUDA_SUCCESS && said)
        *name = said;
    if (driver->cuGetErrorString &&
        driver->cuGetErrorString(result, &said) == CUDA_SUCCESS && said)
        *text = said;
}

const char *mgds_cu_text(const struct mgds_driver *driver,
                         char text[MGDS_CU_TEXT])
{
    const char *name = NULL, *words = "unknown result";

    own_words(last, &name, &words);
    driver_words(driver, last, &name, &words);
    if (name)
        snprintf(text, MGDS_CU_TEXT, "%s (%s)", words, name);
    else
        snprintf(text, MGDS_CU_TEXT, "%s (CUresult %d)", words, (int)last);
    return text;
}
