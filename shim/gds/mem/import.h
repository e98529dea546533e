/*
 * Other processes' allocations (export.h), mapped for kernels of a context. One
 * mapping for each context and handle, however many have it; it is closed at
 * the safe point (defer.h) after the last has put it, unless somebody wants it
 * again before.
 *
 * Concurrency: any thread; a table under a lock (REGISTRY), never held across a
 * driver call.
 */
#ifndef MGDS_MEM_IMPORT_H
#define MGDS_MEM_IMPORT_H

#include "shim/gds/cuda/context.h"
#include "shim/gds/mem/export.h"

struct mgds_import;

/* In a host call, or the launcher's: makes driver calls, which return at once
 * while waits stand. -EBUSY: the driver says that an older mapping is in its
 * place: it may be had after a safe point. -ENOMEM, -ESHUTDOWN, or what the
 * driver says: it cannot be mapped here, be it that it is gone or that this GPU
 * does not reach it. Not for handles of this process. */
int mgds_import_create(struct mgds_import **out, struct mgds_context *ctx,
                       const struct mgds_export_handle *handle);

/* As create where it is mapped already, which is found out without waiting for
 * anything: 0; or -ENOENT. */
int mgds_import_find(struct mgds_import **out, const struct mgds_context *ctx,
                     const struct mgds_export_handle *handle);

/* Where the allocation's base is for kernels of the context. */
char *mgds_import_addr(const struct mgds_import *import);

/* NULL is allowed. No driver call; under any lock below REGISTRY. What was
 * launched before may still use it. */
void mgds_import_put(struct mgds_import *import);

/* Closes all at the next safe point, also what somebody still has: who has one
 * may only put it. */
void mgds_imports_fini(void);

#endif
