/*
 * A receive of an armed rank, into memory of any kind: it has room below for a
 * header, and knows one (docs/header-rendezvous.md).
 *
 *   WAITING    below
 *   PULLING    a copy engine copies the bytes out of the sender's GPU
 *   FETCHING   they come below, since the sender has withdrawn them
 *   COPYING    they are in the bounce buffer, and on their way up
 *   OVER       they are where they belong
 *
 * One thread at a time.
 */
#ifndef MGDS_PMPI_DIRECT_RECV_H
#define MGDS_PMPI_DIRECT_RECV_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/gds/mem/bounce.h"
#include "shim/pmpi/kept.h"

struct mgds_direct_recv;

/* What goes down. */
struct mgds_direct_words {
    void *addr;
    MPI_Count count;
    MPI_Datatype type;
};

/*
 * buffer: the program's; takes a reference to its layout. bounce: what stands
 * for it if it is GPU memory, borrowed; else NULL. words: what would go down,
 * is what goes. apart: the program's own memory must not. 0 or -ENOMEM.
 */
int mgds_direct_recv_create(struct mgds_direct_recv **out,
                            const struct mgds_buffer *buffer,
                            struct mgds_bounce *bounce,
                            struct mgds_direct_words *words, bool apart);

/*
 * A receive into memory of the host that nobody has watched has brought what is
 * at `at`, with this status, which is corrected. 1: that is a header, and the
 * receive has landed, as by land, whose errors poll and wait tell; 0: it is
 * none, and there is no receive; or negative errno: its sender was told that it
 * failed. to: the program's buffer.
 */
int mgds_direct_recv_late(struct mgds_direct_recv **out,
                          const struct mgds_direct_words *to, const void *at,
                          MPI_Status *status);

/* NULL is allowed. Nothing is under way below. */
/* Whether it reads the sender's memory. */
bool mgds_direct_recv_pulls(const struct mgds_direct_recv *recv);

void mgds_direct_recv_destroy(struct mgds_direct_recv *recv);

/* The receive gets a kept message, which was received: there will be none
 * below. Takes it over. */
void mgds_direct_recv_give(struct mgds_direct_recv *recv,
                           struct mgds_kept *kept);

/* The receive below has ended with this status, and brought data; or it was
 * given a kept message. Begins what must be done; corrects the status. 0 or
 * negative errno; poll is to be called all the same. */
int mgds_direct_recv_land(struct mgds_direct_recv *recv, MPI_Status *status);

/* 1: over; 0: not yet; or negative errno, that of land too, told once: all is
 * over. */
int mgds_direct_recv_poll(struct mgds_direct_recv *recv);

/* Until it is over: 0 or negative errno. */
int mgds_direct_recv_wait(struct mgds_direct_recv *recv);

/* Makes another status of the same receive say what land's does. */
void mgds_direct_recv_correct(const struct mgds_direct_recv *recv,
                              MPI_Status *status);

#endif
