/*
 * Calls as counters, traces and NVTX ranges see them, while calls are watched:
 * those of mpi_table.def by their ids, then those of mpix_table.def.
 */
#ifndef MGDS_PMPI_SEEN_H
#define MGDS_PMPI_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/pmpi/calls.h"

enum mgds_seen_call {
    MGDS_SEEN_BEFORE_MPIX = MGDS_CALLS - 1,
#define MGDS_MPIX(name, n, kind) MGDS_SEEN_##name,
#include "shim/pmpi/mpix_table.def"
#undef MGDS_MPIX
    MGDS_SEEN_CALLS
};

/* Their names, prefix and all, by id. */
extern const char *const mgds_seen_names[MGDS_SEEN_CALLS];

/* One call of the program, from where the stack stood to its result. */
struct mgds_seen {
    unsigned call;
    uintptr_t stack;
    bool ranged; /* an NVTX range is open */
};
void mgds_seen_enter(struct mgds_seen *seen, unsigned call, uintptr_t stack);
void mgds_seen_leave(const struct mgds_seen *seen, int result);

#endif
