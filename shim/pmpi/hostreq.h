/*
 * MPI_Irecv of an armed rank into host memory that has room for a header
 * (docs/header-rendezvous.md). It goes below as it came, and the program gets a
 * handle of our own (own_handle.h): so whoever completes it must come to us,
 * and what came is looked at.
 *
 * It is a GENERALIZED request (request.h). Wait, Test, Waitall and Testall
 * complete it by themselves. For all other calls it is *shown* to the MPI
 * below: a generalized request of MPI's is made, and stands for it there from
 * then on. The program's handle stays what it is.
 *
 * Concurrency: as for all GENERALIZED ones.
 */
#ifndef MGDS_PMPI_HOSTREQ_H
#define MGDS_PMPI_HOSTREQ_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/call.h"

/* What is known of the memory of a receive. */
enum mgds_hostreq_memory { MGDS_HOSTREQ_ANY, MGDS_HOSTREQ_HOST };

/* 1: the whole call. 0: the call is no such receive, or that is not known so
 * cheaply; -EBUSY: a message that a probe has kept may be the one; -ENOMEM.
 * Nothing was received then. */
int mgds_hostreq_irecv(mgds_word *result, struct mgds_call_words *call,
                       enum mgds_hostreq_memory memory);

/* Wait and Test of one request, which is not NULL. False: the request is none
 * of these, or is shown: nothing was done. */
bool mgds_hostreq_wait(mgds_word *result, MPI_Request *user,
                       MPI_Status *status);
bool mgds_hostreq_test(mgds_word *result, MPI_Request *user, int *flag,
                       MPI_Status *status);

/* *below: what stands for a request in a call of the MPI below, the handle
 * itself if it is not of our own. 0 or -ENOMEM. */
int mgds_hostreq_show(MPI_Request handle, MPI_Request *below);

#endif
