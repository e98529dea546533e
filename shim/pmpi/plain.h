/*
 * Calls that have nothing to do with us though a body of ours is in use: on
 * memory that is plainly the host's, and on requests of which none is ours. In
 * a program that uses CUDA, too, most calls are such. Their shortcut leads the
 * *plain way*, which jumps to the definition further down as entries do where
 * no body is in use; whatever it cannot tell at once goes the own way.
 *
 * As there, the thread is not marked as being inside us: calls that the library
 * below makes meanwhile through our symbols are taken for the application's
 * own, which the body then finds to be host memory as well, or stages.
 */
#ifndef MGDS_PMPI_PLAIN_H
#define MGDS_PMPI_PLAIN_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/gds/cuda/ptr.h"
#include "shim/pmpi/calls.h"
#include "shim/pmpi/types.h"
#include "shim/pmpi/words.h"

/* A buffer in host memory, of a datatype whose handle says all. The memory of a
 * message without a partner is not looked at: its body sees to that. */
static inline bool mgds_plain_buffer(mgds_word addr, MPI_Count count,
                                     mgds_word type, mgds_word peer)
{
    return mgds_type_basic_size((MPI_Datatype)type) != 0 &&
           (int)peer != MPI_PROC_NULL &&
           (count == 0 || mgds_ptr_is_plain((const void *)addr));
}

/* NULL for functions that have none. For functions with an own way alone. */
extern mgds_next_fn *const mgds_plain_ways[MGDS_CALLS][MGDS_FACES];

#endif
