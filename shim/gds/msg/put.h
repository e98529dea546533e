/*
 * What operations and a wait put on a stream at once: collected in the order of
 * calls, made into one list of commands under the engine's lock (closed), and
 * queued without it.
 *
 *   sends       PACK ..; then PUSH, POST ..
 *   operations  FLAG: the fence of the last one
 *   wait        TAKE .., WAIT, UNPACK .., AWAIT .., FLAG; nothing if there is
 *               nothing to be waited for: then it is passed with what was put
 *               last
 *
 * What others wait for stands ahead of all that waits: no two lists of this
 * form stand for each other, and none for itself.
 */
#ifndef MGDS_MSG_PUT_H
#define MGDS_MSG_PUT_H

#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"

/* Commands beside one for each operation, and one for each that the wait is
 * for; and how many of those need no memory of their own. */
enum { MGDS_PUT_MORE = 3, MGDS_PUT_FEW = 16 };

struct mgds_put {
    struct mgds_timeline *timeline;
    /* Once commands are queued they are gone when their fences are. */
    struct mgds_fence *first, **last; /* of operations */
    struct mgds_wait *wait;           /* NULL: none */
    unsigned ops;
    bool late; /* they may have been called some time ago */
    /* closed */
    uint64_t ticket;
    uint64_t op_fence,
        wait_fence;              /* the first operation's number, the wait's */
    unsigned op_flag, wait_flag; /* places of the FLAGs for their fences */
    uint64_t comm, name;         /* whose errors are told */
    unsigned n;
    unsigned room; /* of command */
    struct mgds_command *command;
    struct mgds_command own[MGDS_PUT_FEW + MGDS_PUT_MORE];
};

/* For one operation and a wait for one; others need room. */
void mgds_put_begin(struct mgds_put *put, struct mgds_timeline *timeline);
/* Room for so many operations and waits for so many more. -ENOMEM. */
int mgds_put_widen(struct mgds_put *put, unsigned more);
/* What there is: operations that were called, a wait that holds its own. */
void mgds_put_op(struct mgds_put *put, struct mgds_op *op);
void mgds_put_wait(struct mgds_put *put, struct mgds_wait *wait);
bool mgds_put_is_empty(const struct mgds_put *put);

/* Gives fences their numbers, fills the wait, and takes a turn on the stream,
 * which mgds_put_all or _drop must follow. Under the engine's lock. */
void mgds_put_close(struct mgds_put *put);

/* Queues what was closed, and is empty again. What cannot be queued fails, as
 * if the stream had come there: errors are those of the operations, the stream
 * and the communicators. 0, or the first error. */
int mgds_put_all(struct mgds_put *put);
/* Queues nothing: all of it fails with that. */
void mgds_put_drop(struct mgds_put *put, int error);

/* Gives the room back. */
void mgds_put_fini(struct mgds_put *put);

#endif
