/* Memory that an HCA may read and write, and peers by its key. Of a GPU it is
 * registered as a dma-buf if the GPU gives one, else by its address, for which
 * the kernel needs nvidia-peermem; or not at all. Writes are placed in order:
 * no region asks for relaxed ordering, since a flag behind data tells of it. */
#ifndef MGDS_HCA_REGION_H
#define MGDS_HCA_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/hca/refusal.h"

struct mgds_rail;

enum mgds_region_way {
    MGDS_REGION_HOST,
    MGDS_REGION_DMABUF,
    MGDS_REGION_PEERMEM
};

struct mgds_region_memory {
    uint64_t address; /* as this process, or its GPU, has it */
    size_t bytes;
    bool gpu;
    int dmabuf; /* of a GPU: a descriptor, which stays the caller's; or -1 */
    uint64_t offset; /* of the memory in that */
};

/* The caller may read it all. */
struct mgds_region {
    struct ibv_mr *mr;
    const struct mgds_verbs *verbs;
    uint32_t lkey;
    uint32_t rkey;
    enum mgds_region_way way;
    struct mgds_refusal passed; /* PEERMEM: why it is no dma-buf, if one was
                                   given */
};

/* 0; or negative errno and why: MEMORY, PEERMEM. The rail outlives it. */
int mgds_region_init(struct mgds_region *region, struct mgds_rail *rail,
                     const struct mgds_region_memory *memory,
                     struct mgds_refusal *refusal);
void mgds_region_fini(struct mgds_region *region);

#endif
