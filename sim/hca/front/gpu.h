/* Memory of the software GPU in regions: by address, as nvidia-peermem gives it
 * to a driver, and by dma-buf. It is mapped here once more, so that it stays
 * while the region has it; the engine knows it as memory of that GPU
 * (transit.h). Under the lock. */
#ifndef MGDS_HCA_GPU_H
#define MGDS_HCA_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mgds_hca;
struct mgds_hca_far_region;
struct mgds_hca_memory;
struct mgds_sim_pin;

/* Memory that a region has beside the program's own. */
struct mgds_hca_mapped {
    void *at; /* NULL: none */
    size_t bytes;
    void *region;                    /* as the engine knows it */
    struct mgds_sim_pin *pin;        /* of an address */
    struct mgds_hca_far_region *far; /* instead of these: far.h */
};

/* The memory at the addresses that *memory has: fills in where it is, and how
 * the engine hears that it is gone. 0; -ENOENT: it is no memory of a software
 * GPU; -EFAULT: it is, and cannot be used; -ENOMEM. */
int mgds_hca_gpu_map_address(struct mgds_hca *engine,
                             struct mgds_hca_memory *memory,
                             struct mgds_hca_mapped *mapped);

/* The memory of a descriptor, from `offset` on: fills in where it is. -EBADF:
 * there is no such descriptor; -EINVAL: it is no dma-buf, or it ends before, or
 * WQEs call the memory by an address at another place of its page. */
int mgds_hca_gpu_map_dmabuf(struct mgds_hca *engine, int fd, uint64_t offset,
                            struct mgds_hca_memory *memory,
                            struct mgds_hca_mapped *mapped);

/* The key is gone. Nothing if nothing is mapped. */
void mgds_hca_gpu_unmap(struct mgds_hca *engine,
                        struct mgds_hca_mapped *mapped);

/* A software GPU is in this process. */
bool mgds_hca_gpu_is_there(void);

#endif
