/*
 * Fetches: messages in the sender's memory (rget.h), or in a ring, that a
 * kernel on a stream of ours copies, since none of the program's takes them:
 * into the program's buffer, or into pinned memory that stands for it. And
 * messages that have come to memory that was lent for them (room.h): into the
 * program's buffer.
 *
 * Two work items (msg/work.h) move a fetch on. The launch is a call of the
 * driver: made by a call of the program's that comes by, by the worker if none
 * does. The watch makes none: it orders, and ends what is over.
 *
 *   launch    watch     outcome
 *   QUEUED    QUEUED    PENDING    the message may be copied
 *   RUNNING   QUEUED    PENDING    a thread launches, or is stuck in the driver
 *   NONE      QUEUED    LAUNCHED   until the kernel's flag is seen
 *                       UNNEEDED   an order was served first
 *                       FAILED     it could not be launched
 *   NONE      RUNNING   (not PENDING)  ended; the watch frees the record
 *
 * A kernel here never waits: its message is ready, or was taken by a stream
 * that is at it. Once queued, the operation's reference is the fetch's until
 * what was launched is through.
 *
 * Launches do not come through while the program sits in certain calls of the
 * driver, such as cuMemFree, until its streams have ended; and these may stand
 * for the very message. So one that is not over a little after its launch was
 * due is *ordered* (mail.h): a kernel that a stream of that context stands in
 * copies it, if there is one; slowly, by one thread. The wire's thread orders,
 * since that takes host words only. Memory that a launch has still to pin is
 * nowhere that a kernel could copy to.
 *
 *   none -> given   one at a time for a stream; the others stay in the list
 *   given -> back   the receive is told to be over, whoever has copied: the
 *                   kernel by order (its number in `served`), the one launched
 *                   (its flag). A launch that is stuck in the driver comes to
 *                   nothing later: until then the claim is not used again
 *   given, failed   the launch found no memory: it is made again later, and the
 *                   kernel by order may come first. Else the context is broken:
 *                   stands for ever, with the operation, and nobody looks
 *
 * So each message is copied once, and each order may come too late for ever:
 * whoever finds it then finds its claim used.
 *
 * Who has the claim also decides what becomes of a message that is withdrawn
 * (expire.h): a fetch that copies nothing wins it, and the receive fails, or
 * loses it, and the TAKE on the receive's stream completes it.
 */
#ifndef MGDS_DOMAIN_FETCH_H
#define MGDS_DOMAIN_FETCH_H

struct mgds_op;

/* Whom to tell, under the engine's lock: it was fetched, and is where it
 * belongs if op->recv->direct, or negative errno; its stream's TAKE was kept
 * from it; nobody will read it. */
struct mgds_fetch_ends {
    void (*fetched)(struct mgds_op *op, int error);
    void (*withdrawn)(struct mgds_op *op, int error, const char *why);
    void (*unread)(const struct mgds_op *op, int error);
};
/* Registers the handlers, before the wire is opened. */
void mgds_fetch_init(const struct mgds_fetch_ends *told);

/* Both under the engine's lock. */
void mgds_fetch_add(struct mgds_op *op);
/* Of a receive whose TAKE its stream has still to come to: keeps that from
 * copying, if it can (withdrawn). why: constant text. Without
 * memory: nothing. */
void mgds_fetch_withdraw(struct mgds_op *op, const char *why);

/* The stream has passed the TAKE: if it was kept from copying that is told now.
 * Under the engine's lock. */
void mgds_fetch_settle(const struct mgds_op *op);

#endif
