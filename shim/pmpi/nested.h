/*
 * Calls that are made from inside one of ours: by the MPI below, which are
 * forwarded, or by an error handler or a callback of the program's that it
 * runs. For our bodies all the same are those that are given requests with
 * handles of our own (own_handle.h), and collectives that members vote on
 * (coll_agree.h).
 *
 * Without mpi.h, which entries cannot include.
 */
#ifndef MGDS_PMPI_NESTED_H
#define MGDS_PMPI_NESTED_H

#include <stdbool.h>

#include "shim/pmpi/frame.h"
#include "shim/pmpi/words.h"

/* What the thread is in the midst of, while such a call runs. */
struct mgds_nested {
    struct mgds_inside inside;
    bool watching;
    void *consumed;
};

bool mgds_nested_is_ours(enum mgds_call call, const mgds_word *words);

/* Begin and end stand around the body. An error handler that jumps out of it
 * leaves it for good. */
void mgds_nested_begin(struct mgds_nested *nested);
void mgds_nested_end(const struct mgds_nested *nested);

#endif
