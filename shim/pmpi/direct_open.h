/*
 * The receives of an armed rank that are under way: who waits for a send makes
 * steps of them, since another rank may wait for one of them before it serves
 * that send. MPI demands that much progress of whoever is inside a call.
 *
 * A table of fixed size under a lock (SHORT); what finds no place makes its
 * steps in its own completion calls, and its sender withdraws.
 */
#ifndef MGDS_PMPI_DIRECT_OPEN_H
#define MGDS_PMPI_DIRECT_OPEN_H

#include <stdbool.h>

#include "shim/pmpi/request.h"

/* A GENERALIZED request of a watched receive has begun; it is about to be given
 * up, or its receive is over. */
void mgds_direct_open_add(struct mgds_request *request);
void mgds_direct_open_remove(struct mgds_request *request);

/* Whether there are any: one load. */
bool mgds_direct_open_any(void);

/* A step for each that this thread has begun, if there are more in all than so
 * many, which the caller has made steps of: with this a pass over all ends. In
 * a call of the program's, no lock held. */
void mgds_direct_open_step(int more_than);

/* Until step, which is given state, says that what the caller waits for is
 * over: serves the receives meanwhile, as open_step does. */
void mgds_direct_open_wait(int more_than, bool (*step)(void *state),
                           void *state);

#endif
