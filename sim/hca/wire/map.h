/* Files that are mapped, each once in a process. Two devices of one process
 * reach a lane at one address then: what orders their accesses for the CPU
 * orders them for ThreadSanitizer too, which knows addresses, not memory. */
#ifndef MGDS_SIM_HCA_WIRE_MAP_H
#define MGDS_SIM_HCA_WIRE_MAP_H

#include <stddef.h>

/* The first `bytes` of the file, for one user more; every user asks for as
 * many. -ENOMEM, or what fstat and mmap say. Any thread. */
int mgds_hca_map_get(int file, size_t bytes, void **at);

/* One user fewer: the last one unmaps. */
void mgds_hca_map_put(void *at);

#endif
