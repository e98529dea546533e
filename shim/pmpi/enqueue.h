/* What all calls ask that put something on a communicator's stream. */
#ifndef MGDS_PMPI_ENQUEUE_H
#define MGDS_PMPI_ENQUEUE_H

#include <mpi.h>

struct mgds_gstream;
struct mgds_scomm;

/* MPI_SUCCESS; or an error code, which was raised: there is no GPU stream here,
 * or it is being captured. */
int mgds_enqueue_check(const struct mgds_scomm *scomm);
/* The same, told to that communicator, of a stream's capture alone. */
int mgds_enqueue_check_capture(struct mgds_gstream *gpu, MPI_Comm comm);

#endif
