/* An attribute by which MPI tells that a communicator goes: its keyval is made
 * when it is first needed, and no duplicate of the communicator gets it. */
#ifndef MGDS_PMPI_COMM_KEY_H
#define MGDS_PMPI_COMM_KEY_H

#include <mpi.h>
#include <stdatomic.h>

/* MPI_KEYVAL_INVALID: none was made yet. Any thread. */
typedef atomic_int mgds_comm_key;

/* The keyval, whose attributes are given to goes when MPI deletes them;
 * MPI_KEYVAL_INVALID: it cannot be made. */
int mgds_comm_key_of(mgds_comm_key *key, MPI_Comm_delete_attr_function *goes);

/* The same if it was made. */
static inline int mgds_comm_key_known(mgds_comm_key *key)
{
    return atomic_load(key);
}

/* Before the MPI below ends. It is made again when it is needed. */
void mgds_comm_key_forget(mgds_comm_key *key);

#endif
