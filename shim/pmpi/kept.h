/*
 * What probes of an armed rank find, and take out of the MPI below
 * (docs/header-rendezvous.md): a message as long as a header can be told from
 * one only when it is received. It, and all messages of its source ahead of it,
 * are kept until a receive takes them.
 *
 * Every receive of an armed rank is between enter and leave while it searches
 * here and then posts below, or a probe of another thread could keep what it
 * should have met. The lock (KEPT) is held across MPI.
 */
#ifndef MGDS_PMPI_KEPT_H
#define MGDS_PMPI_KEPT_H

#include "shim/pmpi/kept_list.h"

void mgds_kept_enter(void);
void mgds_kept_leave(void);

/* How many there are: atomic. */
extern unsigned mgds_kept_count __attribute__((visibility("hidden")));

/* Is there any? One load. */
static inline bool mgds_kept_any(void)
{
    return __atomic_load_n(&mgds_kept_count, __ATOMIC_ACQUIRE) != 0;
}

/* Between enter and leave: the one that a receive matches, or NULL. Taken, it
 * is the caller's, who frees it. */
struct mgds_kept *mgds_kept_look(MPI_Comm comm, int source, int tag);
struct mgds_kept *mgds_kept_take(MPI_Comm comm, int source, int tag);

/* What a matched probe of an armed rank has taken out, by its handle, for
 * Mrecv: the caller's from here on; NULL: the handle is none of ours. */
struct mgds_kept *mgds_kept_take_message(MPI_Message handle);

/* One probe that does not wait, and, if message is not NULL, takes the message
 * out: MPI's code; *flag: whether there is one. */
int mgds_kept_probe(MPI_Comm comm, int source, int tag, int *flag,
                    MPI_Message *message, MPI_Status *status);

/* Before the MPI below ends: whatever nobody has received goes. */
void mgds_kept_fini(void);

#endif
