/* The block that a rank gives to itself in a direct collective, copied within
 * the process, beside its messages. */
#ifndef MGDS_PMPI_COLL_OWN_H
#define MGDS_PMPI_COLL_OWN_H

#include "shim/gds/mem/copyqueue.h"
#include "shim/pmpi/inner.h"

struct mgds_coll_own {
    struct mgds_copyqueue *queue; /* NULL: nothing is under way */
    struct mgds_copy_ticket ticket;
};

/* 1: it is copied, or being copied, until end; 0: it cannot be so (gaps,
 * lengths that differ); or negative errno. */
int mgds_coll_own_begin(struct mgds_coll_own *own,
                        const struct mgds_inner_buffer *to,
                        const struct mgds_inner_buffer *from);

/* Waits for it: 0 or negative errno. Also for all 0. */
int mgds_coll_own_end(struct mgds_coll_own *own);

#endif
