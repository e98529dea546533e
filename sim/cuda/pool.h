/* Threads that do a job and then wait a moment for the next one: executors of
 * streams, lanes of graphs, blocks of kernels. */
#ifndef MGDS_SIM_POOL_H
#define MGDS_SIM_POOL_H

/* Runs job(arg) in another thread, soon and whatever else is running: threads
 * are made as needed. The job is called locked and returns locked. Called
 * locked; cannot fail (one line and abort if the system has no thread left). */
void mgds_pool_run(void (*job)(void *arg), void *arg);

#endif
