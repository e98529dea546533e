/* The blocks of a collective's buffer: what goes to, or comes from, one rank.
 */
#ifndef MGDS_PMPI_COLL_BLOCK_H
#define MGDS_PMPI_COLL_BLOCK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/pmpi/coll.h"

struct mgds_coll_block {
    ptrdiff_t offset; /* in bytes, from the buffer's address on */
    MPI_Count count;
    MPI_Datatype type;
};

/* Displacements are MPI_Aint, not int. */
static inline bool mgds_coll_has_wide_displs(const struct mgds_coll_side *side,
                                             const struct mgds_coll_call *call)
{
    return call->large || side->shape == MGDS_COLL_ATYPES;
}

/* Block i of a side, whose shape is none of COUNTS and MINE; of an empty one
 * the count alone. -EINVAL: no count, or no datatype; -EOVERFLOW. The MPI below
 * is the one to say so. */
int mgds_coll_block(struct mgds_coll_block *out,
                    const struct mgds_coll_side *side,
                    const struct mgds_coll_call *call, const mgds_word *words,
                    int i);

/* Its bytes; negative errno: likewise. */
MPI_Count mgds_coll_block_bytes(const struct mgds_coll_block *block);

#endif
