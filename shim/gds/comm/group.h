/*
 * Groups: what a thread enqueues on a stream between the start and the end of
 * one is collected, and put on the stream at the end, as one list of commands
 * (put.h). Messages are called at once, so that they match in the order of
 * calls; what stands at the stream has its number at the end, since other
 * threads may put something on it meanwhile. All waits of a group are one.
 *
 *   open      in the thread's list; nested starts are counted
 *   flushed   what was collected is put; the group goes on collecting
 *   ended     by as many ends, by MPIX_Stream_free, or with its thread or MPI,
 *             which a line says then
 *
 * A group is its thread's alone, until who ends MPI ends those of all threads.
 */
#ifndef MGDS_COMM_GROUP_H
#define MGDS_COMM_GROUP_H

#include <stdbool.h>

#include "shim/base/tls.h"
#include "shim/gds/msg/put.h"

struct mgds_channel;
struct mgds_gstream;

struct mgds_group {
    struct mgds_group *next;     /* of the thread's open ones */
    struct mgds_gstream *stream; /* a reference; NULL: MPI has ended */
    unsigned depth;              /* starts without an end */
    unsigned strict; /* of these by the program: only an end, or a call that
                        flushes, may put what was collected */
    struct mgds_put put;
};

/* This thread's, the last one first. */
extern MGDS_TLS struct mgds_group *mgds_groups_open;

struct mgds_group *mgds_group_search(const struct mgds_gstream *stream);

/* The thread's group on the stream, or NULL: one load where there is none. */
static inline struct mgds_group *
mgds_group_of(const struct mgds_gstream *stream)
{
    return mgds_groups_open ? mgds_group_search(stream) : NULL;
}

/* Where a call puts what it enqueues on the timeline: the thread's group, or
 * own. With room for so many operations and waits for so many; NULL: no memory.
 */
struct mgds_put *mgds_group_put(struct mgds_put *own,
                                struct mgds_timeline *timeline, unsigned ops,
                                unsigned waits);
/* The call adds nothing after all. */
void mgds_group_undo(struct mgds_put *put, const struct mgds_put *own);
/* The call adds an operation, and waits for so many operations. */
void mgds_group_op(struct mgds_put *put, const struct mgds_put *own,
                   struct mgds_op *op);
void mgds_group_wait(struct mgds_put *put, unsigned count,
                     struct mgds_op *const ops[],
                     const struct mgds_op_sink sinks[]);
/* That is all: closed, under the engine's lock, and then queued, without it, if
 * it is not a group's. */
void mgds_group_close(struct mgds_put *put, const struct mgds_put *own);
void mgds_group_queue(struct mgds_put *put, const struct mgds_put *own);

/* Whether an operation is collected in another thread's group on the stream:
 * what stands there for it would stand ahead of it. Under the engine's lock. */
bool mgds_group_is_elsewhere(const struct mgds_op *op,
                             const struct mgds_gstream *stream);

/* What the library's own groups of the thread have collected goes on their
 * streams: a call waits for what those operations give back. */
void mgds_groups_relieve(void);
/* How many messages that the program's own groups have collected have a slot of
 * the channel. Under the engine's lock. */
unsigned mgds_groups_hold(const struct mgds_channel *channel);

#endif
