/*
 * What the streams of a context share: kernels, words, and how its device can
 * wait. Made with the first stream, so that nothing has to be made where a
 * wait stands; kept until the context is gone or the engine ends.
 *
 * Concurrency. One list under gpus_lock (REGISTRY), never held across a
 * driver call; it holds a reference. All else is constant, or atomic.
 */
#ifndef MGDS_STREAM_GPU_H
#define MGDS_STREAM_GPU_H

#include "shim/gds/cuda/ipc.h"
#include "shim/gds/cuda/kernel.h"
#include "shim/gds/stream/syncwords.h"
#include "shim/gds/mem/copyqueue.h"
#include "shim/gds/mem/stock.h"

enum { MGDS_GPU_PEERS = 64, MGDS_GPU_OWNS = 16 };

/* A kernel in two sizes of what its launch carries. */
struct mgds_gpu_pair {
    struct mgds_kernel_handle *few, *many;
};

struct mgds_gpu {
    struct mgds_context *ctx;
    struct mgds_copyqueue *copyqueue; /* has the pack kernel */
    struct mgds_kernel_handle *copy, *flag, *push, *take, *tell;
    struct mgds_kernel_handle *post, *pull;
    struct mgds_kernel_handle *copies;  /* batch.h */
    struct mgds_gpu_pair takes, awaits; /* the same */
    struct mgds_gpu_pair exchange;      /* exchange.h */
    struct mgds_syncwords *words;
    uint64_t *trial;           /* a line that a memory operation was tried on */
    struct mgds_stock in, out; /* fragments */
    unsigned width;            /* of memory operations; 0: kernels wait */
    unsigned refs;             /* atomic */
    /* by device: the id of the context whose allocations kernels may touch;
     * atomic, 0: none */
    uint64_t peer[MGDS_GPU_PEERS];
    /* GPU memory of streams that were given back (own.h) */
    struct mgds_shared *own[MGDS_GPU_OWNS];
    unsigned owns;
    struct mgds_gpu *next;
};

/* What there is for a context, with a reference. -ENOTSUP: no kernels for its
 * device, or no memory operations though MPIX_GDS_TRIGGER=memop (one line says
 * which). -ENOMEM, -ESHUTDOWN. */
int mgds_gpu_of(struct mgds_gpu **out, struct mgds_context *ctx);
void mgds_gpu_put(struct mgds_gpu *gpu);

/* Makes the same for the other GPUs that the program uses, so that nothing of
 * theirs has to be made where a wait stands, and asks for peer access, both
 * ways. Without it work on the other's memory goes aside (side.h): no error. */
void mgds_gpu_meet(struct mgds_gpu *gpu);

/* May kernels of the context touch that allocation of another one's? */
bool mgds_gpu_sees(const struct mgds_gpu *gpu, const struct mgds_ptr *ptr);

/* Forgets all of them, for MPI_Finalize and tests; those with streams go with
 * the last one. Before mgds_copyqueues_fini. */
void mgds_gpu_fini(void);

#endif
