/*
 * Fetches: messages that their receivers copy (rget.h), by a kernel on a stream
 * of ours, since none of the program's takes them: into the program's buffer,
 * or into pinned memory that stands for it. And messages that have come to
 * memory that was lent for them (room.h): into the program's buffer.
 *
 *   QUEUED    under the engine's lock, when the message may be copied
 *   BUSY      a thread launches or ends it: a host call of the program's that
 *             comes by; the launcher, a thread of its own (launcher.h), if none
 *             does; the wire's thread, which only ends
 *   LAUNCHED  until the kernel's flag is seen
 *
 * A kernel here never waits: its message is ready, or was taken by a stream
 * that is at it. Once queued, the operation's reference is the fetch's until
 * what was launched is through.
 *
 * Launches do not come through while the program sits in certain calls of the
 * driver, such as cuMemFree, until its streams have ended; and these may stand
 * for the very message. So one that is not over a little after its launch was
 * due is *ordered* (queue/order.h): the kernel that the receive's own stream
 * stands in copies it, if there is one; slowly, by one thread. The wire's
 * thread orders, since that takes host words only.
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

#include <stdbool.h>

struct mgds_op;

/* Whom to tell, under the engine's lock: it was fetched, and is where it
 * belongs if op->direct, or negative errno; its stream's TAKE was kept from it;
 * nobody will read it. */
struct mgds_fetch_ends {
    void (*fetched)(struct mgds_op *op, int error);
    void (*withdrawn)(struct mgds_op *op, int error, const char *why);
    void (*unread)(const struct mgds_op *op, int error);
};
/* Before the wire is opened. */
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

/* In a call of the program's, without any lock: launches and ends what is due.
 * A CUDA call if there is anything. */
void mgds_fetches_run(void);

/* The same where the call must not wait for the driver: the launcher is to do
 * what is due. Whether there is anything new. */
bool mgds_fetches_hurry(void);

/* For the wire's thread, without any lock: ends what is over, orders, and has
 * what is late launched. No CUDA call. */
void mgds_fetches_chore(void);

/* Launches what is late: a CUDA call, by the launcher (launcher.h). */
void mgds_fetches_late(void);

/* Those under way are given up, but a launch is waited for: streams are let go
 * before. */
void mgds_fetches_fini(void);

#endif
