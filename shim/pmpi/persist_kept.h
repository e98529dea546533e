/*
 * A persistent receive that is started while a probe has kept what it is to get
 * (kept.h). The request below can get a message from below alone, so it stays
 * inactive there, and the receive is GIVEN: a GENERALIZED request, made for
 * this start, brings the message to where the persistent one receives, and
 * stands in for it in completion calls (wave.h). The next start is as any.
 *
 * Concurrency: the persistent one's state as request.h has it, and its buffer
 * is the other's until that is done.
 */
#ifndef MGDS_PMPI_PERSIST_KEPT_H
#define MGDS_PMPI_PERSIST_KEPT_H

#include "shim/pmpi/persist.h"

/* Starts a watched receive that is not active, between enter and leave of
 * kept.h. 1: it is GIVEN; 0: no kept message is its, and nothing was done; or
 * negative errno. */
int mgds_persist_give(struct mgds_persist *persist);

#endif
