/* A receive gets its message. */
#ifndef MGDS_COMM_PAIR_H
#define MGDS_COMM_PAIR_H

#include "shim/gds/match/match.h"

/* For mgds_match_create, and for what a probe took: the first members of an
 * operation and a message. Under the engine's lock. */
void mgds_paired(void *comm, struct mgds_match_recv *recv,
                 struct mgds_match_send *send);

#endif
