/*
 * Fetches: messages in the sender's memory (rget.h), or in a ring, that a
 * kernel on a stream of ours copies, since none of the program's takes them: to
 * the program's buffer, or to all the pinned memory that stands for it. What
 * such a kernel reaches neither of comes by fragments (proto/flow.h).
 *
 * A fetch is a carry (carry.h) whose claim is the receive's, if that has one:
 * then the TAKE on the receive's stream and the fetch settle by it who copies.
 * Once begun, the operation's reference is the fetch's until what was launched
 * is through.
 *
 * Who has the claim also decides what becomes of a message that is withdrawn
 * (expire.h): a fetch that copies nothing wins it, and the receive fails, or
 * loses it, and the TAKE on the receive's stream completes it.
 */
#ifndef MGDS_PROTO_FETCH_H
#define MGDS_PROTO_FETCH_H

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
