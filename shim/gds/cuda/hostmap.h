/* Host memory of somebody else, and registers of a device, as kernels and
 * memory operations of a GPU reach them: so a stream rings an HCA. */
#ifndef MGDS_CUDA_HOSTMAP_H
#define MGDS_CUDA_HOSTMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"

struct mgds_hostmap {
    void *page;   /* where the mapping begins */
    uint64_t at;  /* what was asked for, as GPUs call it */
    bool foreign; /* somebody had registered it before, and ends it */
};

/* Maps the pages of so many bytes for all contexts. registers: they are tried
 * as I/O memory first, then as any other. -EPERM: the driver maps no registers
 * for this user (NVreg_RegistryDwords="PeerMappingOverride=1;"); -ENOTSUP,
 * -ESHUTDOWN, or what else the driver says. Not where a wait stands. */
int mgds_hostmap_init(struct mgds_hostmap *map, const struct mgds_context *ctx,
                      void *address, size_t bytes, bool registers);

/* Nothing that is on a stream uses it any more. */
void mgds_hostmap_fini(struct mgds_hostmap *map,
                       const struct mgds_context *ctx);

#endif
