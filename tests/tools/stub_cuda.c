/* A libcuda.so.1 that only answers questions: STUB_CUDA_COUNT devices,
 * STUB_CUDA_INIT for cuInit's result, STUB_CUDA_LACK for an attribute that the
 * devices lack, STUB_CUDA_ISLAND for a device that reaches no other. */
#include <stdio.h>
#include <stdlib.h>

#define STUB __attribute__((visibility("default")))

STUB int cuInit(unsigned flags);
STUB int cuDriverGetVersion(int *version);
STUB int cuDeviceGetCount(int *count);
STUB int cuDeviceGet(int *device, int ordinal);
STUB int cuDeviceGetName(char *name, int size, int device);
STUB int cuDeviceGetAttribute(int *value, int attribute, int device);
STUB int cuDeviceCanAccessPeer(int *can, int device, int peer);
STUB int cuGetErrorName(int error, const char **name);

static int number(const char *name, int usual)
{
    const char *text = getenv(name);

    return text ? (int)strtol(text, NULL, 10) : usual;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return number("STUB_CUDA_INIT", 0);
}

int cuDriverGetVersion(int *version)
{
    *version = 13020;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = number("STUB_CUDA_COUNT", 1);
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return number("STUB_CUDA_GET", 0);
}

int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Stub %c", 'A' + device);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute != number("STUB_CUDA_LACK", 0);
    return 0;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    int island = number("STUB_CUDA_ISLAND", -1);

    *can = device != island && peer != island;
    return 0;
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
    return 0;
}
