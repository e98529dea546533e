/*
 * What the engine must know of an MPI datatype: where its bytes lie. Taken
 * apart by MPI_Type_get_envelope and _contents at first use, then kept in a
 * table by handle; an attribute of the datatype says when it goes.
 */
#ifndef MGDS_PMPI_TYPES_H
#define MGDS_PMPI_TYPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mgds_layout;

/*
 * The layout of one element, with a reference for the caller, who gives it back
 * with mgds_layout_put. -EINVAL: no datatype (the MPI below is the
 * one to say so); -ENOMEM; -ENOTSUP: a combiner that we do not know, said once.
 * Any thread, between MPI_Init and MPI_Finalize.
 */
int mgds_type_layout(struct mgds_layout **out, MPI_Datatype type);

/* A datatype that MPICH has built in: the handle is a constant. */
static inline bool mgds_type_is_basic(MPI_Datatype type)
{
    return (uint32_t)type >> 26 == 0x13;
}

/* Size of a datatype that MPICH has built in: its elements lie in a row from
 * the buffer's address on, and the handle says their size. 0: another. */
static inline size_t mgds_type_basic_size(MPI_Datatype type)
{
    return mgds_type_is_basic(type) ? (uint32_t)type >> 8 & 0xff : 0;
}

/* Whether the MPI below takes the datatype in communication; it is asked until
 * it says yes of a type that the table has, which knows when the handle goes.
 * Calls that hand the type down say so by themselves; this is for buffers that
 * go down as bytes, or not at all. Any thread, in own bodies. */
bool mgds_type_committed(MPI_Datatype type);

/* Whether it is made of basic types of several sizes, as pairs are. Any thread,
 * in own bodies. */
bool mgds_type_is_mixed(MPI_Datatype type);

/* Gives the keyval and the layouts of datatypes that are not built in back;
 * before the MPI below is finalized. They come again when they are needed. */
void mgds_types_fini(void);

#endif
