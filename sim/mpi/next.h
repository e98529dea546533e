/* The definitions behind ours: libmpix_sim_mpi.so stands in front of MPICH
 * and UCX, and everything it interposes ends up in one of these calls. */
#ifndef MGDS_SIM_MPI_NEXT_H
#define MGDS_SIM_MPI_NEXT_H

#include <stdbool.h>

/* UCX's types are opaque here: no UCX header is needed, none is installed on
 * a user's machine. A null member is not in this process. */
struct mgds_sim_next {
    unsigned (*worker_progress)(void *worker);
    void *(*disconnect)(void *endpoint);
    int (*finalize)(void);
    int (*pfinalize)(void);
    int (*initialized)(int *flag);
    int (*finalized)(int *flag);
    int (*barrier)(int comm);
    bool mpich; /* the MPI in this process says that it is MPICH */
};

/* Found once, at the first interposed call, by whichever thread makes it;
 * constant afterwards. Never null. */
const struct mgds_sim_next *mgds_sim_next(void);

/* The definition of name behind this library in load order, else in an object
 * that was loaded by dlopen(RTLD_LOCAL) since; null when there is none. */
void *mgds_sim_next_symbol(const char *name);

#endif
