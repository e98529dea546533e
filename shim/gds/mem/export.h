/*
 * The program's GPU memory as other processes may map it: what they are told of
 * an allocation, and when they should let go of it.
 *
 * An allocation goes by its id (ptr.h), which no later one has. What is known
 * is handed out as a copy, so nothing here has to live for anybody. Of the
 * allocations that were asked about the MGDS_EXPORTS_MOST that were asked about
 * last are remembered, also that they cannot be told.
 *
 * *Stale* is one that was seen to be gone, or to have given its addresses to
 * another one; or it was forgotten because of the bound. Whoever has it mapped
 * keeps its memory from being free and is to be told.
 *
 * Concurrency: any thread; a table under a lock (LEAF), never held across a
 * driver call. What is remembered costs no driver call.
 */
#ifndef MGDS_MEM_EXPORT_H
#define MGDS_MEM_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/cuda/ipc.h"
#include "shim/gds/cuda/ptr.h"

/* How many allocations are remembered. */
enum { MGDS_EXPORTS_MOST = 4096 };

/* What a process tells another of an allocation. Plain. */
struct mgds_export_handle {
    struct mgds_shared_name name;
    uint64_t id;   /* unique in its process, not 0 */
    uint64_t base; /* where it begins there */
    uint64_t size;
};

/* The handle of the allocation that ptr says. The first time it makes driver
 * calls, which return at once while waits stand. -ENOTSUP: memory of its kind
 * (POOL, VMM, IMPORTED, what the CPU may touch) has no handle; -EFAULT: it is
 * gone; else what the driver said when first asked; -ENOMEM. */
int mgds_export_of(struct mgds_export_handle *out, const struct mgds_ptr *ptr);

/* Whether the allocation that mgds_export_of gave this id for is stale. */
bool mgds_export_is_stale(uint64_t id);

/* Goes up whenever some become stale: tells whether to look, by one load. Who
 * notes an id reads this before mgds_export_of, and looks again from there. */
uint64_t mgds_exports_stale(void);

/* Asks the driver about so many of them, in turn, whether they still are; those
 * that were freed become stale. mgds_export_of does it for a few whenever it
 * meets a new one. A driver call each, which returns at once while waits stand.
 */
void mgds_exports_sweep(unsigned turns);

/* Forgets all; all are stale then. */
void mgds_exports_fini(void);

#endif
