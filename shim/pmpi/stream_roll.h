/*
 * Who is in a stream communicator: what its members told each other when it
 * was created. Constant; counted, because duplicates share it.
 */
#ifndef MGDS_PMPI_STREAM_ROLL_H
#define MGDS_PMPI_STREAM_ROLL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"

struct mgds_scomm_roll {
    unsigned refs; /* atomic */
    bool inter;
    int rank, size;
    int peers; /* of the group that peers are ranks of */
    int tag_ub;
    struct mgds_member *members;    /* peers of them */
    char *slots;                    /* what came: addresses are in there */
    struct mgds_channels *channels; /* or NULL */
};

/* What the members agree on in a collective call over comm: each value becomes
 * the largest that a member of either group has. An error code of MPI's. Values
 * are below 2^63: MPICH 4.0.2 takes the maximum of MPI_UINT64_T as signed. */
enum { MGDS_AGREE_MOST = 3 };
int mgds_agree(MPI_Comm comm, uint64_t value[], int count);

/* What a member returns that met mine, a class of MPI's, when it knows whether
 * any has failed: says so in one line if it was another. */
int mgds_agreed(int mine, bool failed);

/* Collective: every member tells the others of itself. slot_bytes is agreed. An
 * error code of MPI's, or negative errno: then this member has taken part, but
 * has no memory. */
int mgds_roll_call(struct mgds_scomm_roll **out, MPI_Comm comm,
                   const struct mgds_member *mine, size_t slot_bytes);

/* Collective, after the roll call: the members' rings. streams: mine, by index,
 * NULL for the CPU. Errors as above. */
int mgds_roll_share(struct mgds_scomm_roll *roll, MPI_Comm comm,
                    struct mgds_gstream **streams, unsigned count);

/* How large a slot for an address of so many bytes is. */
size_t mgds_roll_slot(size_t address_bytes);

void mgds_roll_get(struct mgds_scomm_roll *roll);
void mgds_roll_put(struct mgds_scomm_roll *roll);

#endif
