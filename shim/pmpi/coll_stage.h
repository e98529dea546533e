/*
 * A buffer of a collective, and the bounce buffer that stands for it.
 *
 * The MPI below gets the caller's counts and types, always. What it does may
 * hang on all that it can ask of them, and must be the same on all ranks: MPICH
 * 4.0.2 chooses algorithms by counts and sizes, and Allgatherv cuts messages by
 * the type's extent. With a type without gaps on a rank with GPU memory, and
 * the caller's on one without, the ranks wait for ever. No rank knows the
 * others' memory, so gaps have to be paid for: a MIRROR has them, too. What is
 * more than the pool is allowed to pin is ordinary memory, of which only
 * touched pages exist. Displacements mean something on one rank only, so they
 * may be others than the caller's.
 */
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
    void *displs; /* what stands for the caller's displacements, or NULL */
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

#endif
