/*
 * Errors that are tied to no communicator or window (MPI-4.0 9.3): who hears of
 * them. MPI_COMM_SELF where the program has called MPI_Init. Where it has
 * sessions only, MPI has no such object: the session that the program has had
 * open for longest, whose handler it has chosen, rather than MPI's initial
 * handler, which ends the job.
 */
#ifndef MGDS_PMPI_UNTIED_H
#define MGDS_PMPI_UNTIED_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/calls.h"
#include "shim/pmpi/words.h"

/* Comm_call_errhandler or Session_call_errhandler, and what of. */
struct mgds_hearer {
    enum mgds_call call;
    mgds_word of;
};

/* False: MPI is not there. Any thread. */
bool mgds_untied_hearer(struct mgds_hearer *out);

/* A session of the program's: it was opened; it is about to be closed, which is
 * said before the MPI below is told, for then its handle may come again. */
void mgds_untied_open(MPI_Session session);
void mgds_untied_close(MPI_Session session);

#endif
