/* A buffer of a collective, and the bounce buffer that stands for it. */
#ifndef MGDS_PMPI_COLL_STAGE_H
#define MGDS_PMPI_COLL_STAGE_H

#include <mpi.h>
#include <stddef.h>

#include "shim/pmpi/coll.h"

struct mgds_bounce;
struct mgds_buffer;

/* Packed bytes (bounce.h). */
struct mgds_coll_bytes {
    size_t first, bytes;
};

struct mgds_coll_staged {
    struct mgds_bounce *bounce;
    struct mgds_coll_bytes down, up;
    void *lists;       /* what stands for the caller's arrays, or NULL */
    MPI_Datatype type; /* or for its type; MPI_DATATYPE_NULL: nothing does */
};

/* The call that a part belongs to. */
struct mgds_coll_site {
    const struct mgds_coll_call *call;
    int rank;
};

/*
 * Looks at the part's memory, and if it is GPU memory makes a bounce for it and
 * puts it into the words; nothing is copied yet.
 *   1  done: *out is filled; mgds_coll_unstage gives it back when the MPI below
 *      needs the words no more
 *   0  not GPU memory, or arguments that the MPI below will refuse
 *   negative errno: as of mgds_buffer_look and mgds_bounce_create
 * Any thread.
 */
int mgds_coll_stage(struct mgds_coll_staged *out,
                    const struct mgds_coll_part *part,
                    const struct mgds_coll_site *site, mgds_word *words);
void mgds_coll_unstage(struct mgds_coll_staged *staged);

/* The same for parts with displacements: LIST, TYPES, ATYPES. */
int mgds_coll_stage_list(struct mgds_coll_staged *out,
                         const struct mgds_coll_part *part,
                         const struct mgds_coll_site *site, mgds_word *words);

/* Which bytes a range is; own is where the rank's own block lies. */
struct mgds_coll_bytes mgds_coll_bytes(enum mgds_coll_range range,
                                       struct mgds_coll_bytes own);

/* Element i of an array of counts. */
long long mgds_coll_count(const struct mgds_coll_call *call, mgds_word counts,
                          int i);

/* 0, or -EINVAL: no datatype. */
int mgds_coll_extent(MPI_Aint *out, MPI_Datatype type);

/*
 * Would data of size bytes that lies in extent bytes cost too much as a MIRROR?
 * If so it goes PACKED, if it can: with the caller's counts, and for its type
 * one without gaps and of the same size. The counts must stay, since MPICH
 * chooses algorithms by them, and all ranks must choose the same one. Not for
 * persistent calls: MPICH 4.0.2 drops a reference to the type at every start.
 */
static inline bool mgds_coll_is_sparse(const struct mgds_coll_call *call,
                                       size_t size, ptrdiff_t extent)
{
    return call->kind != MGDS_COLL_PERSISTENT && (size_t)extent / 2 > size;
}

/* A type of size bytes, for mgds_coll_type_free: 0, or -ENOMEM. */
int mgds_coll_type_dense(MPI_Datatype *out, size_t size);
void mgds_coll_type_free(MPI_Datatype *type);

#endif
