/*
 * Sends that their receiver was to copy and cannot, since it does not reach
 * their memory: they go by fragments, from the same buffer. The receiver says
 * so once, when it asks for the message (PULL), before anything of it was read;
 * the memory is not offered to it again. And sends for which there was no
 * pinned memory, and that no kernel copies to fragments (flow.h).
 *
 *   ASKED    -> REFUSED   the PULL says so; or of such a one, when its stream
 *                         came
 *   REFUSED  -> SENDING   the send's stream came, and a work item (COPY_IN) has
 *                         copied its bytes into a bounce buffer: they may go,
 *                         and a kernel that waits until the message was copied
 *                         (AWAIT) passes
 */
#ifndef MGDS_PROTO_FALLBACK_H
#define MGDS_PROTO_FALLBACK_H

struct mgds_op;

/* Registers the handler, before the wire is opened. */
void mgds_fallback_init(void);

/* The PULL of a send that is ASKED says so, with negative errno. Under the
 * engine's lock. */
void mgds_fallback_refused(struct mgds_op *op, int reason);

#endif
