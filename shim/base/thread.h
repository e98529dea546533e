/* Threads of ours in the program's process. */
#ifndef MGDS_BASE_THREAD_H
#define MGDS_BASE_THREAD_H

#include <pthread.h>

/* Starts run(NULL) in a new thread, which the caller joins. Signals are the
 * program's, so that all are blocked there: a handler of the program never runs
 * on a stack of ours. 0 or negative errno (pthread_create's). */
int mgds_thread_start(pthread_t *thread, void *(*run)(void *));

#endif
