/* What the software GPU's library exports beside the driver's calls, for the
 * other simulators only, and what it has in common with them. Found by dlsym in
 * libcuda.so.1: absent on a real GPU. */
#ifndef MGDS_SIM_HOOKS_H
#define MGDS_SIM_HOOKS_H

#include <stddef.h>
#include <stdint.h>

/* Memory of a GPU is in memfds, a dma-buf is one of those, and the name of each
 * says whose it is: host, number of the GPU on that host, and its ordering as
 * GPU_DIRECT_RDMA_WRITES_ORDERING has it. A memfd that is sealed against
 * shrinking (F_SEAL_SHRINK) keeps its memory when the GPU's buffer is freed,
 * for those who still have it. */
#define MGDS_SIM_MEMFD_KIND "mgds-gpu-"
#define MGDS_SIM_MEMFD_NAME MGDS_SIM_MEMFD_KIND "%016llx-%u-%u"

/* The name of the memfd with UAR pages of the software HCA, which are I/O
 * memory to a GPU. */
#define MGDS_SIM_BAR_NAME "mpix-sim-hca-bar"

struct mgds_sim_pin;

/* Memory of a GPU for an HCA. */
struct mgds_sim_memory {
    int fd;        /* the caller's */
    size_t offset; /* in it */
    /* A word that is not 0 when the program has freed the memory: it is
     * nobody's then, and the keys of it end. Stored by the software GPU with
     * release order. */
    const uint32_t *gone;
    struct mgds_sim_pin *pin;
};

/* The part of a driver that finds the pages behind device addresses
 * (nvidia-peermem): those of [ptr, ptr + bytes) of this process. 0; -ENOENT: no
 * address of a GPU's memory (the host reaches it, or nobody); -EFAULT: not all
 * of it is memory of one buffer, or of one that can be used so; or another
 * negative errno. Any thread, also before cuInit. */
__attribute__((visibility("default"))) int
mgds_sim_pin(const void *ptr, size_t bytes, struct mgds_sim_memory *out);

/* The end of that; the descriptor may be closed before. */
__attribute__((visibility("default"))) void
mgds_sim_unpin(struct mgds_sim_pin *pin);

/* From now on `flush` is called when a program or an operation of a stream
 * flushes what HCAs have written to a GPU, by its number on the host: when it
 * returns, that is there. Called without locks, by any thread. */
__attribute__((visibility("default"))) void
mgds_sim_on_flush(void (*flush)(unsigned gpu));

/* How many calls of the driver this process has made so far, refused ones
 * too. Any thread. */
__attribute__((visibility("default"))) uint64_t mgds_sim_calls(void);

/* How many of them the calling thread has made, and how many of these put a
 * kernel on a stream. */
__attribute__((visibility("default"))) uint64_t mgds_sim_own_calls(void);
__attribute__((visibility("default"))) uint64_t mgds_sim_own_launches(void);

#endif
