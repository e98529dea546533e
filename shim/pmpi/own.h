/*
 * Bodies of the functions whose row says OWN, GPU, REFUSE or STREAM, declared
 * from the table. A body runs only above an MPI with MPICH's handles, that of a
 * REFUSE row only when CUDA is in the process, that of a GPU row then or
 * (point-to-point, completion) when a stream communicator was made, that of a
 * STREAM row only in the latter case; it gets the words of the call, and goes
 * down with MGDS_FORWARD.
 */
#ifndef MGDS_PMPI_OWN_H
#define MGDS_PMPI_OWN_H

#include "shim/pmpi/calls.h"
#include "shim/pmpi/words.h"

#define MGDS_OWN_PASS(name, n)
#define MGDS_OWN_REFUSE(name, n) MGDS_OWN_OWN(name, n)
#define MGDS_OWN_GPU(name, n) MGDS_OWN_OWN(name, n)
#define MGDS_OWN_STREAM(name, n) MGDS_OWN_OWN(name, n)
#define MGDS_OWN_OWN(name, n) mgds_word mgds_own_##name(MGDS_PARAMS_##n);
#define MGDS_CALL(name, n, family, mode) MGDS_OWN_##mode(name, n)
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
#undef MGDS_OWN_OWN

#endif
