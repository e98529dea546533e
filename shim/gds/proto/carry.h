/*
 * Carries: copies by a kernel of ours, beside the program's streams, of what is
 * there, and to where a kernel reaches: of a message (fetch.h), or of a piece
 * of one, into pinned memory or out of it (proto/flow.h).
 *
 * Two work items (msg/work.h) move a carry on. The launch is a call of the
 * driver: made by a call of the program's that comes by, by the worker if none
 * does. The watch makes none: it orders, and ends what is over.
 *
 *   launch    watch     outcome
 *   QUEUED    QUEUED    PENDING    it may be copied
 *   RUNNING   QUEUED    PENDING    a thread launches, or is stuck in the driver
 *   NONE      QUEUED    LAUNCHED   until the kernel's flag is seen
 *                       UNNEEDED   an order was served first
 *                       FAILED     it could not be launched
 *   NONE      RUNNING   (not PENDING)  ended; the record is its owner's again
 *
 * A kernel here never waits: what it copies is ready, or was taken by a stream
 * that is at it.
 *
 * Launches do not come through while the program sits in certain calls of the
 * driver, such as cuMemFree, until its streams have ended; and these may stand
 * for the very message. So one that is not over a little after its launch was
 * due is *ordered* (mail.h): a kernel that a stream of that context stands in
 * copies it, if there is one; slowly, by one thread. The wire's thread orders,
 * since that takes host words only.
 *
 *   none -> given   one at a time for a stream; the others stay in the list
 *   given -> back   the owner is told, whoever has copied: the kernel by order
 *                   (its number in `served`), the one launched (its flag). A
 *                   launch that is stuck in the driver comes to nothing later:
 *                   until then the claim is not used again
 *   given, failed   the launch found no memory: it is made again later, and the
 *                   kernel by order may come first. Else the context is broken:
 *                   stands for ever, with the record, and nobody looks
 *
 * So each is copied once, and each order may come too late for ever: whoever
 * finds it then finds its claim used.
 */
#ifndef MGDS_PROTO_CARRY_H
#define MGDS_PROTO_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/msg/mail.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/stream/gstream.h"

struct mgds_bounce;
struct mgds_carry;
struct mgds_op;

struct mgds_carry_owner {
    /* Once it is copied, before that is told: what takes long. Any thread,
     * without the lock. May be NULL. */
    void (*settle)(struct mgds_carry *carry);
    /* Under the engine's lock, once: it is where it belongs; -EFAULT: it was
     * thrown away, since the program freed the buffer; other negative errno.
     * The kernel launched may still come to it, and finds its claim used. */
    void (*over)(struct mgds_carry *carry, int error);
    /* May a TAKE on the program's stream copy it, too? Then it never fails for
     * want of memory. May be NULL. */
    bool (*is_shared)(const struct mgds_carry *carry);
    /* Nobody uses the record any more. Without the lock. */
    void (*gone)(struct mgds_carry *carry);
};

enum mgds_carry_outcome {
    MGDS_CARRY_PENDING,
    MGDS_CARRY_LAUNCHED,
    MGDS_CARRY_UNNEEDED,
    MGDS_CARRY_FAILED
};

struct mgds_carry {
    struct mgds_work launch, watch;
    const struct mgds_carry_owner *owner; /* constant */
    struct mgds_gstream *stream; /* constant: whose kernels copy; held by the
                                    owner until it is gone */
    struct mgds_command take;    /* constant, but the words of its own */
    enum mgds_carry_outcome outcome;
    uint64_t since;     /* ns: when it was last due */
    bool slow_by_order; /* constant: one thread copies host memory far more
                           slowly than a launch that waits for its turn */
    uint64_t *timeline; /* words of its own, or NULL */
    struct mgds_claim *claim; /* its own, or NULL */
    struct mgds_mail mail;    /* the orders that were given */
    bool told;                /* that it is over */
    bool lost;                /* the program has freed the buffer */
};

/* Words of the line that kernels use, beside the flag: a unit whose word has
 * the serial already, and a word that says to nobody that it was read. */
enum {
    MGDS_CARRY_SERIAL = 1,
    MGDS_CARRY_DONE = 2,
    MGDS_CARRY_FLAG = 3,
    MGDS_CARRY_WON = 4 /* fetch.c's */
};

/* Registers the handlers, before the wire is opened. */
void mgds_carry_init(void);

/* All under the engine's lock. */

/* owner, stream and take are set, all else is 0. A take without a claim gets
 * one, as long as there are any: without it nothing is ordered. launch:
 * DELIVERY, for which calls of the program are waited for a little; or PART. */
void mgds_carry_begin(struct mgds_carry *carry, enum mgds_work_kind launch);
/* The same of plain bytes of this process: where they go, where they are, how
 * many. */
void mgds_carry_bytes(struct mgds_carry *carry, void *to, const void *from,
                      size_t bytes);
/* Whose memory is looked at again before the copy: the operation's; or NULL.
 * For cuMemFreeAsync takes effect behind what is on the stream, the operation
 * with it, but as it seems the driver forgets the memory at the call
 * (results/2026-11-29-host), and may have given its address to what comes
 * behind that. */
struct mgds_bounce *mgds_carry_checked(const struct mgds_op *op);
/* The owner knows that the copy is over, or that nobody makes it. */
void mgds_carry_tell(struct mgds_carry *carry, int error);
/* Could a kernel by order still copy it? */
static inline bool mgds_carry_is_ordered(const struct mgds_carry *carry)
{
    return carry->mail.count > 0;
}

#endif
