/*
 * Messages by header that their senders have taken back: their bytes go below
 * after all, on a communicator of ours, with the slot as tag. The program has
 * its send back; what is left is an orphan (request_orphan.h) until the bytes
 * were received, and the header matched.
 */
#ifndef MGDS_PMPI_DIRECT_WITHDRAW_H
#define MGDS_PMPI_DIRECT_WITHDRAW_H

#include <mpi.h>
#include <stdint.h>

#include "shim/gds/direct/board.h"
#include "shim/gds/mem/bounce.h"

struct mgds_withdrawal {
    unsigned slot; /* of our board */
    uint64_t serial;
    enum mgds_slot_state from;  /* where it is */
    int peer;                   /* in MPI_COMM_WORLD */
    struct mgds_bounce *bounce; /* all bytes are in there */
    MPI_Request header;         /* not matched yet; or MPI_REQUEST_NULL */
};

/* 1: the send is over, and slot, bounce and header are not the caller's any
 * more; nor are they with negative errno, where the bytes cannot be sent. 0:
 * the receiver was first, or there is no memory, and nothing has changed. */
int mgds_direct_withdraw(const struct mgds_withdrawal *what);

#endif
