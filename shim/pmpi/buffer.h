/*
 * What a buffer of an MPI call is: memory that the MPI below may touch, or GPU
 * memory, for which the call needs a bounce buffer.
 */
#ifndef MGDS_PMPI_BUFFER_H
#define MGDS_PMPI_BUFFER_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/gds/mem/bounce.h"

/*
 * Looks at count elements of type at addr, as a call of MPI names them
 * (MPI_BOTTOM with absolute displacements too).
 *   1  GPU memory that must be staged: *out is filled and holds a reference to
 *      the layout; mgds_buffer_put gives it back. It is settled (cuda/settle.h)
 *   0  not so: pass it on. Host memory; no bytes; MPI_IN_PLACE; a datatype or
 *      count the MPI below will refuse; GPU memory if the MPI below takes it.
 *      *out is not written.
 *   negative errno: -EFAULT freed GPU memory or a message that runs out of it,
 *      -ENOMEM, or what the driver says
 * Any thread. Only in own bodies, that is between MPI_Init and MPI_Finalize.
 */
int mgds_buffer_look(struct mgds_buffer *out, const void *addr, MPI_Count count,
                     MPI_Datatype type);

/*
 * The same for who takes both kinds: 1 GPU memory, 0 host memory (ptr is not
 * set) or nothing to be touched; in both cases *out has a reference to the
 * layout. -EINVAL too: no datatype. It is not settled: that is for who has no
 * stream.
 */
int mgds_buffer_find(struct mgds_buffer *out, const void *addr, MPI_Count count,
                     MPI_Datatype type);

/* Whether there is GPU memory in it, and no more than that. */
bool mgds_buffer_is_gpu(const void *addr, MPI_Count count, MPI_Datatype type);

/* Settles all memory of a buffer that is GPU memory (cuda/settle.h). */
void mgds_buffer_settle(const struct mgds_buffer *buffer);

/* Whether the memory of a buffer that was found so is GPU memory now, when a
 * call uses it again: as mgds_buffer_find. */
int mgds_buffer_find_again(struct mgds_buffer *buffer);

/* Where a buffer begins that is one piece of memory; NULL: there are gaps. */
char *mgds_buffer_piece(const struct mgds_buffer *buffer);

/* Makes a bounce for GPU memory that must be staged (mgds_bounce_create), and
 * counts it. */
int mgds_buffer_stage(struct mgds_bounce **out,
                      const struct mgds_buffer *buffer,
                      enum mgds_bounce_form form);

/* The count alone, for who makes a bounce before it is known to be needed. */
void mgds_buffer_count_staged(const struct mgds_buffer *buffer);

/* Gives back what a look that returned 1 holds. A bounce made from the buffer
 * keeps a reference of its own. */
void mgds_buffer_put(struct mgds_buffer *buffer);

/* The same for bytes bytes at addr: 1, 0 or negative errno. */
int mgds_buffer_look_bytes(const void *addr, MPI_Count bytes);

#endif
