/*
 * A thread that does what may be stuck in the driver for as long as the program
 * is there: it sleeps until it has something to do.
 */
#ifndef MGDS_MSG_WORKER_H
#define MGDS_MSG_WORKER_H

#include <stdbool.h>

/* What the thread does. Before the first call. */
void mgds_worker_init(void (*what)(void));

/* Has the thread do it, soon: once for any number of calls that it has not
 * begun to serve. Made by the first of them; where that fails a line says so,
 * and the next one tries again: false. Any thread, no lock of rank LEAF held.
 */
bool mgds_worker_call(void);

/* Ends the thread, when the call that it is in returns. */
void mgds_worker_fini(void);

#endif
