/*
 * What each rank tells all others at the end of MPI_Init, about messages by
 * header (direct.h).
 */
#ifndef MGDS_PMPI_DIRECT_FACTS_H
#define MGDS_PMPI_DIRECT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/direct/board.h"
#include "shim/gds/direct/header.h"

struct mgds_direct_facts {
    uint64_t magic; /* of gather: the library, of this version */
    uint64_t host;
    uint64_t collectives; /* MPIX_GDS_DIRECT_COLL */
    bool takes_part;
    bool sessions; /* the rank has some */
    bool gpus;     /* there may be some */
    struct mgds_board_place place;
    struct mgds_header_secret secret; /* rank 0's holds */
};

/* Those of all ranks of MPI_COMM_WORLD, which the caller frees. NULL, for all
 * ranks: one does not take part, or has no memory. Collective; where a rank
 * does not come a line says so. */
struct mgds_direct_facts *
mgds_direct_facts_gather(struct mgds_direct_facts *mine, int rank, int size);

/* Behind that, collective: whether it is so with all ranks. */
bool mgds_direct_facts_agree(bool mine, int rank);

#endif
