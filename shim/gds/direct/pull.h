/*
 * A copy out of another process's GPU memory, as its header names it, on a
 * stream of ours: the registration cache (mem/import.h) maps the allocation, a
 * copy engine copies.
 */
#ifndef MGDS_DIRECT_PULL_H
#define MGDS_DIRECT_PULL_H

#include <stddef.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/direct/header.h"

struct mgds_pull;

/* Begins to copy the first bytes bytes, at most all, to dst, any memory of this
 * process. ctx: one that has mapped memory of that device of the sender before.
 * -EBUSY: older memory is mapped in its place, until a safe point; other errors
 * as mgds_import_create, or of the copy. Nothing is under way then. */
int mgds_pull_create(struct mgds_pull **out, struct mgds_context *ctx,
                     const struct mgds_header *header, void *dst, size_t bytes);

/* 1: the bytes are there; 0: not yet; or the error of the copy. After 1 and
 * after an error the sender's memory is not read any more. */
int mgds_pull_poll(struct mgds_pull *pull);

/* It is over. NULL is allowed. */
void mgds_pull_destroy(struct mgds_pull *pull);

#endif
