/*
 * Short copies out of other processes' GPU memory by a kernel of ours, several
 * in one launch. A kernel needs no question to the driver, for its end is a
 * word in host memory, and costs one call however many copies it makes
 * (docs/decisions.md has what was measured).
 *
 * A kernel is never the only way, for the program's own may fill the GPU while
 * the program waits for that very message. So whoever polls a read looks at the
 * clock, and takes a read away from a block that has not come in 20 us (struct
 * mgds_read_claim says how): its caller copies the bytes otherwise. Neither
 * that question nor its answer needs the thread that launches, which may sit in
 * the driver. Each row has one claim:
 *
 *   FREE  -> TAKEN   a read has it: from now on it may be polled, and a block
 *                    may come as soon as the launch is made
 *   TAKEN -> FREE    the block has said DONE or LEFT, or no launch was made
 *   TAKEN -> LOST    the read is over, and the claim is the block's until that
 *                    says its last word: `off` was stored before the block
 *                    came, or the context has broken
 *   LOST  -> FREE    the block has said LEFT (or, in spite of an error, DONE)
 *
 * A block that waits for earlier blocks of ours is not late: while one of them
 * copies, and for 20 us after its end was found, no read is taken away. Nor
 * does any read begin while rows are LOST, for its kernel would come behind
 * theirs, or for a second after two launches in a row were late; one launch is
 * tried then.
 *
 * Concurrency. Any thread. Rows change hands under the lock (LEAF). A TAKEN row
 * and its claim's `off` are its reader's. Who launches touches neither behind
 * the launch, nor, if that fails, behind the LEFT that it stores.
 */
#ifndef MGDS_MEM_READS_H
#define MGDS_MEM_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/abi.h"
#include "shim/gds/cuda/context.h"

/* A block that has not come by then waits for room on the GPU. */
#define MGDS_READS_COME_NS UINT64_C(20000)

struct mgds_reads;

/* Says that copy queues made from now on are to have reads: somebody can send
 * what they copy. Does nothing where the settings forbid it, or where launches
 * block (CUDA_LAUNCH_BLOCKING): a block that waits for room on the GPU would
 * hold up the only thread that can do without it. */
void mgds_reads_want(void);

/* The reads of a context: their stream, kernel and claims. NULL: there are
 * none, since nobody wants them or since the driver refuses them, which is
 * logged. Loads and launches a kernel, so not where a wait stands. */
struct mgds_reads *mgds_reads_create(struct mgds_context *ctx);

/* All reads are over. What blocks that have not come may still use is never
 * freed. NULL is allowed, and a context that is gone. */
void mgds_reads_destroy(struct mgds_reads *reads);

/* A read, of its holder; one thread at a time polls it. All 0: none. */
struct mgds_read {
    struct mgds_reads *reads; /* NULL: none */
    unsigned row;
    bool off;       /* it was stored: the block says what it makes of that */
    uint64_t taken; /* ns */
    uint64_t asked; /* when the driver was asked, ns */
};

/* Whether reads may begin now; NULL is allowed. A hint. */
bool mgds_reads_may_begin(struct mgds_reads *reads);

/* Takes a row for each item of args, of which dst, src and bytes are given;
 * fills the claims in, and read[i] for item i. src is mapped in the context,
 * dst in memory of its device; both stay until the read is over. False: there
 * are no rows for all of them, and no read has begun. */
bool mgds_reads_take(struct mgds_reads *reads, struct mgds_read_args *args,
                     struct mgds_read *const *read);

/* Launches what was taken: to follow at once, in the same thread. Where that
 * fails polls say so. */
void mgds_reads_launch(struct mgds_reads *reads,
                       const struct mgds_read_args *args);

/* 1: the bytes are there, and nothing looks at src any more; 0: not yet;
 * -EAGAIN: nothing copies them, nor will; or the error of a context that has
 * broken. The read is over unless 0. */
int mgds_read_poll(struct mgds_read *read);

#endif
