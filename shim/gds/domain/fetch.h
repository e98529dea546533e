/*
 * Fetches: messages that their receivers copy (pull.h), by a kernel on a stream
 * of ours, since none of the program's takes them: into the program's buffer,
 * or into pinned memory that stands for it.
 *
 *   QUEUED    under the engine's lock, when the message may be copied
 *   LAUNCHED  by a host call of the program's; by the wire's thread, between
 *             its rounds, if none comes by
 *   over      the kernel's flag was seen: the receive goes on
 *
 * A kernel here never waits: its message is ready, or was taken by a stream
 * that is at it. Once queued, the operation's reference is the fetch's until it
 * is over.
 */
#ifndef MGDS_DOMAIN_FETCH_H
#define MGDS_DOMAIN_FETCH_H

#include <stdbool.h>

struct mgds_op;

/* Under the engine's lock. */
void mgds_fetch_add(struct mgds_op *op);

/* Launches and ends what is due; without any lock. A CUDA call if there is
 * anything. host: in a call of the program's. True if something was done. */
bool mgds_fetches_run(bool host);

/* Those under way are given up. */
void mgds_fetches_fini(void);

#endif
