/* The end of operations: told to whoever waits, or kept for who is to be told.
 * All under the engine's lock. */
#ifndef MGDS_MSG_FINISH_H
#define MGDS_MSG_FINISH_H

struct mgds_timeline;
struct mgds_op;

/* It is over, with this error or 0: once. */
void mgds_op_finish(struct mgds_op *op, int error);
/* A stream will pass it: its error is the stream's and the communicator's. */
void mgds_op_keep_error(struct mgds_op *op, struct mgds_timeline *timeline);
/* The engine needs it no more. The reference is put later. */
void mgds_op_leave_engine(struct mgds_op *op);

#endif
