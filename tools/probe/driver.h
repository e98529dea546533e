/* libcuda.so.1 opened at run time, for the probe: no CUDA header, no CUDA at
 * build time. The calls have had one prototype since CUDA 4. Device memory and
 * streams are words here. */
#ifndef MGDS_PROBE_DRIVER_H
#define MGDS_PROBE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* For looking at devices. */
#define MGDS_PROBE_LOOK(X)                                                     \
    X(init, "cuInit", (unsigned flags))                                        \
    X(version, "cuDriverGetVersion", (int *version))                           \
    X(count, "cuDeviceGetCount", (int *count))                                 \
    X(get, "cuDeviceGet", (int *device, int ordinal))                          \
    X(name, "cuDeviceGetName", (char *name, int size, int device))             \
    X(attribute, "cuDeviceGetAttribute",                                       \
      (int *value, int attribute, int device))                                 \
    X(can_access, "cuDeviceCanAccessPeer", (int *can, int device, int peer))   \
    X(error_name, "cuGetErrorName", (int error, const char **name))

/* For messages in a device's memory. */
#define MGDS_PROBE_USE(X)                                                      \
    X(retain, "cuDevicePrimaryCtxRetain", (void **ctx, int device))            \
    X(set_current, "cuCtxSetCurrent", (void *ctx))                             \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))        \
    X(alloc, "cuMemAlloc_v2", (uintptr_t * at, size_t bytes))                  \
    X(fill, "cuMemsetD8_v2", (uintptr_t at, unsigned char byte, size_t bytes)) \
    X(synchronize, "cuCtxSynchronize", (void))                                 \
    X(read, "cuMemcpyDtoH_v2", (void *to, uintptr_t from, size_t bytes))

struct mgds_probe_driver {
#define X(member, symbol, params) int(*member) params;
    MGDS_PROBE_LOOK(X)
    MGDS_PROBE_USE(X)
#undef X
};

/* Loads it; NULL, and dlerror() says why. It stays loaded: it has threads and
 * exit handlers. */
void *mgds_probe_driver_load(void);

/* Fills the members for looking, or for use, too. The first symbol that the
 * library does not have, or NULL. */
const char *mgds_probe_driver_look(struct mgds_probe_driver *cuda,
                                   void *library);
const char *mgds_probe_driver_use(struct mgds_probe_driver *cuda,
                                  void *library);

/* "CALL: NAME (NUMBER)" of an error that a call returned, a new string, or null
 * without memory; the calls for looking are there. */
json_t *mgds_probe_driver_error(const struct mgds_probe_driver *cuda,
                                const char *call, int error);

#endif
