/* Persistent requests over a bounce, partitioned ones among them. */
#ifndef MGDS_PMPI_PERSIST_H
#define MGDS_PMPI_PERSIST_H

#include "shim/base/lock.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/request.h"
#include "shim/pmpi/side.h"

enum mgds_persist_way {
    MGDS_PERSIST_SEND = 1,
    MGDS_PERSIST_RECV,
    MGDS_PERSIST_PART_SEND, /* Pready brings a partition down */
    MGDS_PERSIST_PART_RECV, /* Parrived brings one up, completion the rest */
};

struct mgds_persist {
    struct mgds_request request; /* first */
    struct mgds_side side;
    enum mgds_persist_way way;
    struct mgds_direct_match from; /* RECV: what it receives */
    /* Partitioned only. Threads may be in Pready and Parrived at a time: the
     * lock (LAUNCH, held across the driver) guards the bounce and arrived. */
    struct mgds_lock lock;
    int partitions;
    size_t bytes;  /* of a partition, packed */
    bool *arrived; /* PART_RECV: those that are up already */
};

/* Takes the side over, whatever comes of it. partitions: 0 if not partitioned.
 * The caller makes the request, then mgds_request_made. */
int mgds_persist_create(struct mgds_persist **out, const struct mgds_side *side,
                        MPI_Comm comm, enum mgds_persist_way way,
                        int partitions);

/* NULL if the request is not a persistent one of ours. */
struct mgds_persist *mgds_persist_find(MPI_Request handle);

#endif
