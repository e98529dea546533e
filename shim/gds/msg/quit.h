/* Waits that are given up while a kernel stands for them; see quit.c. Under the
 * engine's lock, but init. */
#ifndef MGDS_MSG_QUIT_H
#define MGDS_MSG_QUIT_H

#include <stdbool.h>

struct mgds_op;

/* A wait of which nothing is left but a kernel that waits (op->waited->stood)
 * is not to wait for the operation's message: the wait ends with the error,
 * unless the message is there in the end. Where no record is free for that the
 * stream is ruined. */
void mgds_quit_begin(struct mgds_op *op, int error);
/* Such a wait of a send is to pass, without an error: its message goes another
 * way. False: no record is free just now. */
bool mgds_quit_release(struct mgds_op *op);
/* Such a wait ends with the error: its communicator and its stream are told,
 * the first time. */
void mgds_quit_tell(struct mgds_op *op, int error);
/* The stream has passed the wait: 0, or the error with which a kernel has given
 * it up. */
int mgds_quit_settle(struct mgds_op *op);
/* Registers the handlers, before the wire is opened. */
void mgds_quit_init(void);

#endif
