/*
 * What of an armed rank is under way and waits for a call of this rank: its
 * receives, and its sends by header, which another rank may refuse. Who waits
 * makes steps of them, since another rank may wait for one of them before it
 * serves what is waited for here. MPI demands that much progress of whoever is
 * inside a call.
 *
 * A table of fixed size under a lock (SHORT); a receive that finds no place
 * makes its steps in its own completion calls, and its sender withdraws. Sends
 * have the places of their slots.
 */
#ifndef MGDS_PMPI_DIRECT_OPEN_H
#define MGDS_PMPI_DIRECT_OPEN_H

#include <stdbool.h>

#include "shim/pmpi/request.h"

/* A GENERALIZED request of a watched receive has begun; it is about to be given
 * up, or its receive is over. */
void mgds_direct_open_add(struct mgds_request *request);
void mgds_direct_open_remove(struct mgds_request *request);

/* A GENERALIZED request of a send has begun, with that slot; it is over, or
 * given up. */
void mgds_direct_open_offer(unsigned slot, struct mgds_request *request);
void mgds_direct_open_end_offer(unsigned slot, struct mgds_request *request);

/* Whether there are any. */
bool mgds_direct_open_any(void);

/* A step for each send that this thread has begun, if one may be refused. In a
 * call of the program's, or of MPI's to a poll function of ours. */
void mgds_direct_open_serve_refused(void);

/* A step for each receive that this thread has begun, if there are more in all
 * than so many, which the caller has made steps of: with this a pass over all
 * ends. And as serve_refused. In a call of the program's, no lock held. */
void mgds_direct_open_step(int more_than);

/* Until is_over, which is given state, says that what the caller waits for is:
 * serves the others meanwhile, as open_step does. */
void mgds_direct_open_wait(int more_than, bool (*is_over)(void *state),
                           void *state);

#endif
