/*
 * The driver's functions, once CUDA is in the process. The door never loads
 * libcuda and never initialises CUDA: it takes what the program has loaded.
 *
 * Concurrency. One word says where things stand; it is read by every call and
 * written under driver.c's lock, each way once:
 *
 *   UNTRIED --> READY    the table is complete: written before the word
 *           \-> REFUSED  not a driver, or too old: the reason is written
 *                        before the word, and one line has said it
 *
 * UNTRIED stays while libcuda is not in the process. Two threads may look for
 * the symbols at the same time, each in a table of its own; the first one to
 * take the lock publishes. So no lock is held while the driver is called.
 */
#ifndef MGDS_CUDA_DRIVER_H
#define MGDS_CUDA_DRIVER_H

#include <stddef.h>

#include "shim/gds/cuda/driver_abi.h"

/* The least driver, as CUDA versions are numbered, and the name of its
 * release. 12.0 is the first with cuGetProcAddress_v2 and cuCtxGetId. */
#define MGDS_DRIVER_LEAST 12000
#define MGDS_DRIVER_LEAST_RELEASE "525"

struct mgds_driver {
    int version; /* the newest CUDA it knows: 13000 is 13.0 */
#define X(name, since, need, params) CUresult(*name) params;
#include "shim/gds/cuda/driver.def"
#undef X
};

/* The table, or NULL while there is no usable driver in the process; then no
 * GPU pointers are either. Any thread; two loads once READY. Why a libcuda
 * that is there cannot be used is said in one line, once. */
const struct mgds_driver *mgds_driver(void);

/* The same without a look for the driver: NULL until mgds_driver found it. */
const struct mgds_driver *mgds_driver_found(void);

/* For callers that cannot do without a GPU: 0 if the driver is usable, the
 * program has initialised it and it has a device. Else -ENODEV (no libcuda in
 * the process, not initialised, or no device), -ENOTSUP (refused) or another
 * negative errno, and one line says so with the remedy: once for each cause.
 * Any thread. */
int mgds_driver_require(void);

#endif
