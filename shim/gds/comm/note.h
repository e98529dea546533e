/*
 * What is told of operations to whoever watches: events of the trace (or
 * probes) at their steps, and when all is over the counters by transport and
 * size of what was enqueued. All under the engine's lock; none waits.
 */
#ifndef MGDS_COMM_NOTE_H
#define MGDS_COMM_NOTE_H

struct mgds_op;

/* It has a request ID, and will be known to its peer. */
void mgds_note_called(const struct mgds_op *op);
/* A receive has its message. */
void mgds_note_matched(const struct mgds_op *op);
/* A send's receiver wants the bytes. */
void mgds_note_asked(const struct mgds_op *op);
/* The stream came to it. */
void mgds_note_reached(const struct mgds_op *op);
/* It is done or has failed, and how is known. Of a send that is its end: the
 * program may have its buffer. */
void mgds_note_done(const struct mgds_op *op);
/* Nothing more comes of it: how its message travelled is known, and a receive
 * ends here, since its stream may take what it is done with. */
void mgds_note_over(const struct mgds_op *op);

#endif
