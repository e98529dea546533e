/*
 * Messages that probes have taken out of the MPI below, in the order in which
 * they came (docs/header-rendezvous.md). A receive or probe searches here
 * first: all that is kept of a source is ahead of what is still below of it.
 *
 * Pure, of one owner's lock.
 */
#ifndef MGDS_PMPI_KEPT_LIST_H
#define MGDS_PMPI_KEPT_LIST_H

#include <mpi.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "shim/gds/direct/header.h"

struct mgds_kept {
    TAILQ_ENTRY(mgds_kept) link;
    MPI_Comm comm;
    MPI_Status status; /* as the program is to see it */
    /* That is still to be received; MPI_MESSAGE_NULL: bytes are what was. */
    MPI_Message message;
    unsigned char bytes[MGDS_HEADER_BYTES];
};

TAILQ_HEAD(mgds_kept_list, mgds_kept);

/* The first that a receive with these would match, or NULL. */
struct mgds_kept *mgds_kept_find(const struct mgds_kept_list *list,
                                 MPI_Comm comm, int source, int tag);

#endif
