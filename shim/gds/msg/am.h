/*
 * Active messages: the engine's way in and out of the wire. Each kind of
 * envelope (msg/envelope.h) has one handler, which the file that the kind
 * belongs to registers when the wire is first opened.
 *
 *   wire -> am: length and values are looked at (mgds_envelope_open)
 *        -> handler, under the engine's lock: DONE, or EARLY
 *        -> EARLY: kept, and handed to the handler again by each replay
 *
 * A replay is due when a communicator is made or goes, and when an RTS has come
 * for which an envelope of its communicator waits. What is kept is in the order
 * in which it came.
 *
 * All under the engine's lock, but init.
 */
#ifndef MGDS_MSG_AM_H
#define MGDS_MSG_AM_H

#include "shim/gds/msg/envelope.h"
#include "shim/gds/wire/wire.h"

/* An envelope as it came: of that process, by its seal (wire/seal.h). */
struct mgds_am {
    enum mgds_envelope kind;
    uint64_t from;
    union mgds_envelope_head head;
};

enum mgds_am_verdict {
    MGDS_AM_DONE,
    MGDS_AM_EARLY, /* what it is for is not there yet */
};
typedef enum mgds_am_verdict mgds_am_handler(const struct mgds_am *am);

/* Of a kind without a body; DATA goes to mgds_wire_handle. Before the wire is
 * opened, in any case without the lock. */
void mgds_am_handle(enum mgds_envelope kind, mgds_am_handler *handler);

/* What is kept is handled again. */
void mgds_am_replay(void);
/* What is kept is dropped. */
void mgds_am_forget(void);

/* Posts to a peer: 0; or negative errno, and one line. A message without done
 * that is lost on the way makes its peer useless: the wire loses it then. */
int mgds_am_post(struct mgds_wire_peer *peer,
                 const struct mgds_wire_message *message);
/* The same of a head alone, which is copied. */
int mgds_am_tell(struct mgds_wire_peer *peer, enum mgds_envelope kind,
                 const void *head, size_t bytes);

#endif
