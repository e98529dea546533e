/*
 * Who lets a stream pass its wait for an operation, beside the operation's
 * state (op_state.h): settled when a wait is put on a stream (wait.h), from
 * FREE, which an operation leaves once. op_waits.def is the table.
 *
 *   WAITED    the CPU, when the operation is done
 *   TAKING    a TAKE on the receive's own stream: the CPU says where the
 *             message is as soon as it is matched
 *   KNOWN     the same of a message that was matched before: the TAKE was put
 *             with its place
 *   AWAITING  the word that says that a send was copied (an AWAIT), and then
 *   AWAITED   that wait is over: the stream has passed it, or it was let go
 *   UNPUT     nobody: the wait could not be put on the stream
 *
 * Pure: no lock, no other file of the engine. Operations are moved under the
 * engine's lock.
 */
#ifndef MGDS_MSG_OP_WAIT_H
#define MGDS_MSG_OP_WAIT_H

#include <stdbool.h>

enum mgds_op_waiting {
#define MGDS_WAITING(name, text) MGDS_OP_##name,
#include "shim/gds/msg/op_waits.def"
    MGDS_OP_WAITINGS
};

/* In the order of a wait's life. */
enum mgds_op_wait_event {
    MGDS_OP_WAIT_ON_HOLD, /* a wait has it: what nothing else is said of */
    MGDS_OP_WAIT_ON_TAKE, /* and it is a receive that its own stream may take */
    MGDS_OP_WAIT_ON_KNOW, /* of which it is known where the message is */
    MGDS_OP_WAIT_ON_AWAIT, /* or a send whose receiver copies it */
    MGDS_OP_WAIT_ON_PASS,  /* that is over */
    MGDS_OP_WAIT_ON_BREAK, /* what was to be put for it could not be */
    MGDS_OP_WAIT_EVENTS
};

/* The table; FREE: there is no row, since nothing leads back there. */
extern const unsigned char mgds_op_waiting_next[MGDS_OP_WAITINGS]
                                               [MGDS_OP_WAIT_EVENTS];

/* Where the event leads; `waiting` itself: nowhere, it is refused. */
static inline enum mgds_op_waiting
mgds_op_waiting_after(enum mgds_op_waiting waiting,
                      enum mgds_op_wait_event event)
{
    unsigned char to = mgds_op_waiting_next[waiting][event];

    return to == MGDS_OP_FREE ? waiting : (enum mgds_op_waiting)to;
}

/* "the CPU lets its wait pass"; constant. */
const char *mgds_op_waiting_text(enum mgds_op_waiting waiting);

/* Whether a TAKE is put for it. */
static inline bool mgds_op_waiting_takes(enum mgds_op_waiting waiting)
{
    return waiting == MGDS_OP_TAKING || waiting == MGDS_OP_KNOWN;
}

#endif
