/* A datatype taken apart: MPI_Type_get_envelope and _get_contents turned into
 * the engine's layout. For types.c, which keeps the results. */
#ifndef MGDS_PMPI_DECODE_H
#define MGDS_PMPI_DECODE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct mgds_layout;

/* A new reference in *out, and whether the program made the type (else it is
 * predefined and stays). -EINVAL: the MPI below does not know the type;
 * -ENOTSUP: a combiner we do not know, said once; -ENOMEM; -EOVERFLOW. */
int mgds_decode_type(struct mgds_layout **out, bool *derived,
                     MPI_Datatype type);

/* Sizes of the basic types that a datatype is made of: bit n for size n (31 for
 * all beyond), 0 if it cannot be said. */
uint32_t mgds_decode_sizes(MPI_Datatype type);

#endif
