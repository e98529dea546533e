/*
 * For sources that include only <mpi.h>: with this folder ahead of the others
 * (mpix-gds-cc puts it there) they get MPI's header and mpix_gds.h behind it.
 */
#ifndef MPIX_GDS_MPI_H
#define MPIX_GDS_MPI_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include_next <mpi.h>

#include "../mpix_gds.h"

#endif
