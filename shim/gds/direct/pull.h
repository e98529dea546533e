/*
 * A copy out of another process's GPU memory, as its header names it, on a
 * stream of ours: the registration cache (mem/import.h) maps the allocation;
 * copy engines copy, or, where one batch has several short messages, a kernel
 * of ours does (mem/reads.h). A pull goes through
 *
 *   BATCHED   in a batch, for what comes with it
 *   TAKEN     by the one who queues it: the thread whose batch it is, at the
 *             flush; or, if that takes more than 20 us, a poll
 *   READING   a kernel has it
 *   COPYING   a copy engine has it: at the flush of few, outside of batches,
 *             and after READING if the kernel did not come
 *
 * A batch is its thread's. It is flushed before anything that may wait, for
 * that may be for the very messages that are in it.
 *
 * Concurrency: one thread at a time polls or destroys a pull, be it BATCHED in
 * another's batch or not.
 */
#ifndef MGDS_DIRECT_PULL_H
#define MGDS_DIRECT_PULL_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/direct/header.h"

struct mgds_pull;

/* Where to: the first bytes bytes, at most all, to any memory of this process.
 * near: it is of the context's device, which no other rank uses, so that a
 * kernel may copy. */
struct mgds_pull_to {
    void *dst;
    size_t bytes;
    bool near;
};

/* Begins to copy. ctx: one that has mapped memory of that device of the sender
 * before.
 * -EBUSY: older memory is mapped in its place, until a safe point; other errors
 * as mgds_import_create, or of the copy. Nothing is under way then. */
int mgds_pull_create(struct mgds_pull **out, struct mgds_context *ctx,
                     const struct mgds_header *header,
                     const struct mgds_pull_to *to);

/* 1: the bytes are there; 0: not yet; or the error of the copy. After 1 and
 * after an error the sender's memory is not read any more. */
int mgds_pull_poll(struct mgds_pull *pull);

/* It is over. NULL is allowed. */
void mgds_pull_destroy(struct mgds_pull *pull);

/* Between them the pulls that the thread begins are batched, inside of a batch
 * of the copy queue. */
void mgds_pull_batch_begin(void);
void mgds_pull_batch_end(void);

/* Whoever is about to call the driver, or to wait, and may be in a batch: the
 * pulls in it are queued. */
void mgds_pull_batch_flush(void);

#endif
