/* Waits that are given up while a kernel stands for them; see quit.c. Under the
 * engine's lock, but init, due and fini. */
#ifndef MGDS_DOMAIN_QUIT_H
#define MGDS_DOMAIN_QUIT_H

#include <stdbool.h>

struct mgds_op;

/* A wait of which nothing is left but a kernel that waits (op->stood) is not to
 * wait for the operation's message: it ends with the error, unless the message
 * is there in the end. Where that cannot be said the stream is ruined. */
void mgds_quit_begin(struct mgds_op *op, int error);
/* Such a wait ends with the error: the first time that it does, this is told.
 */
void mgds_quit_tell(struct mgds_op *op, int error);
/* The stream has passed it: 0, or the error with which it was given up. */
int mgds_quit_settle(struct mgds_op *op);
/* What kernels have given up is told. */
bool mgds_quitting_due(void);
void mgds_quitting_look(void);
/* Registers the handler, before the wire is opened. */
void mgds_quit_init(void);
void mgds_quitting_fini(void);

#endif
