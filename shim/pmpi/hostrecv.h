/*
 * MPI_Recv of an armed rank into host memory (docs/header-rendezvous.md), where
 * it is all that must be looked at: one thread calls MPI, no other receive and
 * no message that a probe has kept is there. Then it goes below as it came, and
 * what came is looked at behind that: if it is a header its bytes are brought.
 */
#ifndef MGDS_PMPI_HOSTRECV_H
#define MGDS_PMPI_HOSTRECV_H

#include <stdbool.h>

#include "shim/pmpi/call.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/words.h"

/* Of a call whose words are addr, count, type, source, ...: whether the MPI
 * below would take any memory there, of a built-in datatype: the words, and its
 * bytes. Whether it is plain, too. */
bool mgds_hostrecv_words(struct mgds_direct_words *to, size_t *bytes,
                         const struct mgds_call_words *call);
bool mgds_hostrecv_plain_words(struct mgds_direct_words *to, size_t *bytes,
                               const struct mgds_call_words *call);

/* The whole call, with its result, of plain memory (plain.h). False: it is not
 * so, and nothing was received. */
bool mgds_hostrecv_recv(mgds_word *result, struct mgds_call_words *call);

#endif
