/* What the software GPU's library exports beside the driver's calls, for the
 * other simulators only. Found by dlsym in libcuda.so.1: absent on a real GPU.
 */
#ifndef MGDS_SIM_HOOKS_H
#define MGDS_SIM_HOOKS_H

#include <stddef.h>
#include <stdint.h>

/* The memory behind device addresses [ptr, ptr + bytes) of this process: a
 * descriptor (the caller closes it) and where in it ptr lies. 0, -EFAULT if
 * that is no memory of one buffer, -ENOENT if it is host memory (reachable
 * where it is), or another negative errno. Any thread, also before cuInit. */
__attribute__((visibility("default"))) int
mgds_sim_memory(const void *ptr, size_t bytes, int *fd, size_t *offset);

/* How many calls of the driver this process has made so far, refused ones
 * too. Any thread. */
__attribute__((visibility("default"))) uint64_t mgds_sim_calls(void);

/* How many of them put a kernel on a stream. Any thread. */
__attribute__((visibility("default"))) uint64_t mgds_sim_launches(void);

#endif
