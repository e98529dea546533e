/* Memory of a GPU that this process does not reach by loads and stores: of a
 * real one. The engine has a copy of a region, and a process of its own keeps
 * it and the GPU's memory alike (sim/hca/mover), so that no call of CUDA which
 * the program stands in stops the wire. */
#ifndef MGDS_HCA_FAR_H
#define MGDS_HCA_FAR_H

#include <stdint.h>

#include "sim/hca/mover/mover.h"

struct mgds_hca;
struct mgds_hca_memory;

/* The place of memory, as another process opens it. */
struct mgds_hca_far_place {
    char bus_id[MGDS_MOVER_BUS_ID];
    uint8_t ipc[MGDS_MOVER_IPC];
    uint64_t offset; /* in the allocation */
};

struct mgds_hca_far_region;

/* Asks the driver about addresses [start, start + bytes); it may wait for other
 * calls of the program: not under the lock. 0; -ENOENT: no memory of a GPU, or
 * it is to be reached in another way; -EFAULT: it cannot be given to another
 * process, or ends before. */
int mgds_hca_far_ask(uint64_t start, uint64_t bytes,
                     struct mgds_hca_far_place *place);

/* Fills in where the engine reaches memory whose `bytes` are set. 0 or negative
 * errno; the process that copies is started at need. Under the lock. */
int mgds_hca_far_map(struct mgds_hca *engine,
                     const struct mgds_hca_far_place *place,
                     struct mgds_hca_memory *memory,
                     struct mgds_hca_far_region **out);

/* In a child that was forked: the process that copies ends with the parent.
 * Safe in a signal handler. */
void mgds_hca_far_forget(void);

/* Gives a region up, whose key is gone. Under the lock. */
void mgds_hca_far_unmap(struct mgds_hca *engine,
                        struct mgds_hca_far_region *region);

#endif
