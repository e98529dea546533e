/*
 * Requests that the program freed while they were ACTIVE, and records whose
 * operation still reads memory of ours: later calls test them until they are
 * done (request_table.h has the list).
 */
#ifndef MGDS_PMPI_REQUEST_ORPHAN_H
#define MGDS_PMPI_REQUEST_ORPHAN_H

#include <mpi.h>

/* Tests the orphans once. Any thread; not inside a callback of MPI. */
void mgds_request_orphans_poll(void);

/* Waits for the orphans of a communicator, and for those that do not say whose
 * they are (receives of matched probes). Where they poll. */
void mgds_request_orphans_wait(MPI_Comm comm);

/* The same for a while only: what is left then has no partner, and a line says
 * so. */
void mgds_request_orphans_drain(MPI_Comm comm);

/* Before the MPI below is finalized: gives orphans a while to be done, then
 * lets go of them and of the requests that are in the table. */
void mgds_requests_fini(void);

#endif
