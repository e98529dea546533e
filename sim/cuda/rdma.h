/* Memory of a GPU for HCAs: the part that they may reach, and the time at which
 * their writes are there. */
#ifndef MGDS_SIM_RDMA_H
#define MGDS_SIM_RDMA_H

#include "sim/cuda/state.h"

struct mgds_gpu_block;

/* True if that attribute of a device is one of these: its value. */
bool mgds_rdma_attribute(unsigned name, int *value);

/* True if memory operations of streams can flush; cuFlushGPUDirectRDMAWrites
 * always can. */
bool mgds_rdma_memops_flush(void);

/* Memory that an HCA may reach; to the others the driver says so by
 * IS_GPU_DIRECT_RDMA_CAPABLE. Locked. */
bool mgds_rdma_capable(const struct mgds_gpu_block *block);

/* The program gives the memory up. Locked. */
void mgds_rdma_forget(struct mgds_gpu_block *block);

/* Writes of this process's HCAs to that device are there on return. Not
 * locked. */
void mgds_rdma_flush(const struct mgds_gpu_device *device);

/* The ordering as GPU_DIRECT_RDMA_WRITES_ORDERING has it, which the names of
 * memfds say. */
unsigned mgds_rdma_ordering(void);

#endif
