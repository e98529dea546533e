/*
 * The states of an operation, from its call until the engine has nothing to do
 * with it any more: how its message moves. op_states.def is the table; here is
 * what the words mean.
 *
 *   send     CALLED  -> SENDING    asked for, and its stream has come to it
 *                    -> FLOWING    the same, in parts
 *                    -> READY      the same, of one that its receiver copies
 *                    -> REFUSED    of such a one, if that cannot, or of one for
 *                                  which there was no pinned memory: SENDING
 *                                  follows, or FLOWING
 *                    -> READ       taken out of the ring, or copied
 *   receive  POSTED  -> HELD       matched: its own stream may take it
 *                    -> WANTED     matched: to be asked for (PULLED)
 *            PULLED  -> LANDING    the wire writes to its place
 *                    -> FILLING    to memory for a part of it at a time
 *                    -> DELIVERED  all of it is there, or never will be
 *            HELD    -> TAKEN      a wait in its own stream has it: done
 *
 * What does not depend on that are latches of the operation: whether its stream
 * has come to it (reached), whether its caller may go on (done), whether a copy
 * of ours is under way (fetch). ARRIVED is a receive that is DELIVERED and
 * reached.
 *
 * Pure: no lock, no other file of the engine. Operations are moved under the
 * engine's lock.
 */
#ifndef MGDS_MSG_OP_STATE_H
#define MGDS_MSG_OP_STATE_H

#include <stdbool.h>

enum mgds_op_state {
#define MGDS_STATE(name, is, text) MGDS_OP_##name,
#include "shim/gds/msg/op_states.def"
    MGDS_OP_STATES
};

/* In the order of an operation's life. */
enum mgds_op_event {
    MGDS_OP_ON_CALL,    /* a send: its receiver is told (RTS) */
    MGDS_OP_ON_PULL,    /* its receiver asks for it */
    MGDS_OP_ON_REFUSE,  /* and cannot copy it: its bytes are to be sent */
    MGDS_OP_ON_ANSWER,  /* its receiver, which copies it, is told that it may */
    MGDS_OP_ON_SEND,    /* its bytes are posted to the wire */
    MGDS_OP_ON_SENT,    /* the wire is done with them */
    MGDS_OP_ON_COPIED,  /* its stream has passed the wait for that */
    MGDS_OP_ON_READ,    /* its receiver says that it has it (TAKEN) */
    MGDS_OP_ON_POST,    /* a receive: in the matcher, or with its message */
    MGDS_OP_ON_HOLD,    /* matched: its own stream may take the message */
    MGDS_OP_ON_WANT,    /* matched, or held, and to be asked for */
    MGDS_OP_ON_TAKE,    /* a wait in its own stream has it */
    MGDS_OP_ON_ASK,     /* the PULL is posted */
    MGDS_OP_ON_LAND,    /* its bytes begin to come */
    MGDS_OP_ON_FLOW,    /* the same of a send's or a receive's, in parts */
    MGDS_OP_ON_DELIVER, /* they are where they belong */
    MGDS_OP_ON_ARRIVE,  /* and its stream has come to it */
    MGDS_OP_ON_PASS,    /* its own stream has passed the wait that took it */
    MGDS_OP_ON_CANCEL,  /* the program has cancelled it */
    MGDS_OP_ON_FAIL,    /* its bytes could not be moved */
    MGDS_OP_ON_LOSE,    /* its peer, its stream or its time is over */
    MGDS_OP_EVENTS
};

/* The table; NEW: there is no row, since nothing leads back there. */
extern const unsigned char mgds_op_state_next[MGDS_OP_STATES][MGDS_OP_EVENTS];

/* Where the event leads; `state` itself: nowhere, it is refused. */
static inline enum mgds_op_state mgds_op_state_after(enum mgds_op_state state,
                                                     enum mgds_op_event event)
{
    unsigned char to = mgds_op_state_next[state][event];

    return to == MGDS_OP_NEW ? state : (enum mgds_op_state)to;
}

/* Whether the bytes are where they belong, or will not come. */
bool mgds_op_state_is_moved(enum mgds_op_state state);

/* "its receiver was told of it"; constant. */
const char *mgds_op_state_text(enum mgds_op_state state);

#endif
