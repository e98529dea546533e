/*
 * A communicator of this process alone, for questions to the MPI below: what
 * goes wrong on it is told to us, and to no error handler of the program's.
 */
#ifndef MGDS_PMPI_SELF_H
#define MGDS_PMPI_SELF_H

#include <mpi.h>
#include <stdbool.h>

struct mgds_self {
    MPI_Comm comm;
    MPI_Session session; /* MPI_SESSION_NULL in the world model */
};

/* Are MPI_COMM_SELF and MPI_COMM_WORLD there: was MPI_Init called, and not yet
 * MPI_Finalize? Any thread. */
bool mgds_has_world(void);

/* Made from MPI_COMM_SELF, or, in a program that has sessions only, in a
 * session of our own: 0, or -EIO if the MPI below gives none. For a moment:
 * close it before the own body returns. Any thread; not collective, but by
 * MPI's rules nobody may use MPI_COMM_SELF for a collective meanwhile. */
int mgds_self_open(struct mgds_self *self);
void mgds_self_close(struct mgds_self *self);

/* One for all, for questions that come with every call: made from the first
 * communicator that this is given, without a collective call on it; until fini.
 * Any thread. */
void mgds_self_keep(MPI_Comm of);
/* MPI_COMM_NULL: there is none. */
MPI_Comm mgds_self_kept(void);
/* Before the MPI below ends, or what it was made from does. */
void mgds_self_fini(void);

#endif
