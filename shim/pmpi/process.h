/*
 * What the interception layer knows of its process: whether it may act at all,
 * and whether calls must be seen one by one. Settled at the first intercepted
 * call and constant from then on.
 */
#ifndef MGDS_PMPI_PROCESS_H
#define MGDS_PMPI_PROCESS_H

#include <stdbool.h>

#include "shim/pmpi/abi.h"

struct mgds_process {
    struct mgds_mpi_library library;
    bool active;  /* MPICH's handles below, and not switched off */
    bool watched; /* calls are counted or traced: nothing takes a shortcut */
};

/* Settles it at the first call. Any thread. */
const struct mgds_process *mgds_process(void);

/* Is MPI initialised, and did we see that? Any thread. */
bool mgds_init_seen(void);

/* Has the program a session open, and perhaps communicators of it? Any
 * thread. */
bool mgds_init_has_sessions(void);

#endif
