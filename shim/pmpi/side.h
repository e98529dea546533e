/*
 * One buffer of a call on its way down: as the program gave it, or a bounce in
 * its place. A dense datatype keeps its count and type below, and so does one
 * that is sent and mixes sizes; others go packed, as bytes.
 */
#ifndef MGDS_PMPI_SIDE_H
#define MGDS_PMPI_SIDE_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/gds/mem/bounce.h"

/* What the call does with the buffer; SEND if both. LATE: it is received into,
 * and the caller looks himself at what came into a row of a built-in datatype
 * in host memory, which passes (hostreq.h). APART: it is received into, and the
 * program's memory may not be touched before the end. PARTS: likewise received,
 * by what meets no header. */
enum mgds_side_way {
    MGDS_SIDE_RECV,
    MGDS_SIDE_LATE,
    MGDS_SIDE_SEND,
    MGDS_SIDE_APART,
    MGDS_SIDE_PARTS
};

struct mgds_direct_recv;

struct mgds_side {
    struct mgds_bounce *bounce;      /* NULL: the buffer passes as it is */
    struct mgds_direct_recv *direct; /* of a receive of an armed rank */
    void *addr;                      /* what goes down */
    MPI_Count count;
    MPI_Datatype type;
};

/* A side that passes: for buffers that nothing will be read from or written
 * to, and before init. */
struct mgds_side mgds_side_passing(const void *addr, MPI_Count count,
                                   MPI_Datatype type);

/* 1: staged, or watched for a header (direct_recv.h), fini must follow; 0: it
 * passes, perhaps for the MPI below to refuse; or negative errno. */
int mgds_side_init(struct mgds_side *side, const void *addr, MPI_Count count,
                   MPI_Datatype type, enum mgds_side_way way);

/* Also for a side that passes. The call below is done with it. */
void mgds_side_fini(struct mgds_side *side);

/* All of it from the GPU, until it is there; 0 or negative errno. Nothing for
 * a side that passes; likewise below. */
int mgds_side_down(struct mgds_side *side);

/* Queues what a message with this status brought; the status may be corrected.
 */
int mgds_side_land(struct mgds_side *side, MPI_Status *status);

/* The queued copies: 1 done, 0 not yet, or negative errno. */
int mgds_side_poll(struct mgds_side *side);

/* Whether it reads the memory of the sender, in another process. */
bool mgds_side_pulls(const struct mgds_side *side);

/* What a receive that ended with rc (MPI's) and this status brought, until it
 * is there. */
int mgds_side_up(struct mgds_side *side, MPI_Status *status, int rc);

#endif
