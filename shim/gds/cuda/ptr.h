/*
 * What a buffer is, as the driver says. No allocator is hooked: the program
 * may get its memory in any way the driver offers.
 *
 * What a look costs, and why so:
 *   no libcuda in the process   the caller does not come here (presence.h)
 *   heap, stack, own data       no driver call (hostaddr.h)
 *   other host memory           one driver call, for two attributes if only
 *                               that is asked (mgds_ptr_is_plain); there is no
 *                               cheaper way that stays right, since any mapping
 *                               may be the driver's tomorrow
 *   GPU memory seen before      one driver call for one attribute, the buffer
 *                               id, which no two allocations of a process
 *                               share: if it is still the cached one, so is
 *                               all else (ptrcache.h)
 *   GPU memory                  one driver call for all attributes
 * So an answer is never older than the call, whatever was freed, allocated
 * again or mapped elsewhere meanwhile.
 */
#ifndef MGDS_CUDA_PTR_H
#define MGDS_CUDA_PTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/driver_abi.h"
#include "shim/gds/cuda/hostaddr.h"

enum mgds_ptr_kind {
    MGDS_PTR_HOST,    /* plain, or memory of CUDA's that hostaddr.h knows */
    MGDS_PTR_PINNED,  /* cuMemHostAlloc, cuMemHostRegister */
    MGDS_PTR_MANAGED, /* CPU and GPU may touch it */
    /* From here on only a GPU may touch it. */
    MGDS_PTR_DEVICE,   /* cuMemAlloc: the legacy IPC handle can be had */
    MGDS_PTR_POOL,     /* cuMemAllocAsync; belongs to no context */
    MGDS_PTR_VMM,      /* cuMemMap; belongs to no context */
    MGDS_PTR_IMPORTED, /* cuIpcOpenMemHandle: cannot be passed on */
};

struct mgds_ptr {
    enum mgds_ptr_kind kind;
    int device;      /* ordinal; -1 for HOST */
    uint64_t id;     /* of the allocation, unique in the process; 0: none */
    uintptr_t base;  /* of the allocation that addr lies in; VMM: mapping */
    size_t size;     /* from base on; 0 for HOST */
    CUcontext ctx;   /* that owns it; NULL for HOST, POOL and VMM */
    uint64_t ctx_id; /* of ctx, which handles are used again, ids are not */
    unsigned handle_types; /* bits CU_MEM_HANDLE_TYPE_*: POOL and VMM */
};

/* True if the CPU must not touch it: the one thing that decides whether the
 * MPI below may have it. */
static inline bool mgds_ptr_is_gpu(const struct mgds_ptr *ptr)
{
    return ptr->kind >= MGDS_PTR_DEVICE;
}

/*
 * Looks at bytes bytes from addr on. HOST without a driver call: no bytes (an
 * empty message touches nothing, whatever its address, NULL too), and as long
 * as there is no driver or the program has not initialised it.
 * 0, and out is filled; or out is left alone and
 *   -EFAULT   GPU memory that does not cover all bytes, or that was freed (the
 *             latter if it was looked at while it lived, and not too long
 *             ago: else freed memory is HOST, and a fault when touched)
 *   other     what the driver says of memory that was GPU memory before.
 * Any thread; no lock; never allocates.
 */
int mgds_ptr_find(struct mgds_ptr *out, const void *addr, size_t bytes);

/* True if mgds_ptr_find would say so of bytes from addr on: memory that the CPU
 * may touch, and nothing to be said against it. False: that is not known so
 * cheaply. For who does not need to know what kind of host memory it is. Any
 * thread; no lock; one driver call at most. Out of line, so that a call on
 * memory that is near needs no frame. */
bool mgds_ptr_is_plain_far(const void *addr) __attribute__((noinline));

static inline bool mgds_ptr_is_plain(const void *addr)
{
    return mgds_hostaddr_near(addr) || mgds_ptr_is_plain_far(addr);
}

/* Whether addr lies in the allocation that `known` is of, by one driver call at
 * most. False: not, or that cannot be told so. Any thread; no lock. */
bool mgds_ptr_lives(const struct mgds_ptr *known, const void *addr);

#endif
