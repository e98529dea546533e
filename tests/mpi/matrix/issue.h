/* One way of writing a collective for all ways of making it. */
#ifndef MGDS_MATRIX_ISSUE_H
#define MGDS_MATRIX_ISSUE_H

#include "tests/mpi/matrix/case.h"

enum mgds_mx_how {
    MGDS_MX_BLOCKING,
    MGDS_MX_NONBLOCKING,
    MGDS_MX_PERSISTENT, /* the request is made, not started */
    MGDS_MX_LARGE,      /* the twin with MPI_Count */
};

/* A collective call as its rounds see it; `call` is the steps' own. */
struct mgds_mx_steps {
    int (*issue)(void *call, MPI_Request *request); /* an MPI error code */
    void (*fill)(void *call, int round);            /* buffers, before it */
    void (*check)(void *call, int round);
};

/* One round, or three starts of a persistent request. */
void mgds_mx_steps_run(struct mgds_mx_case *c,
                       const struct mgds_mx_steps *steps, void *call,
                       enum mgds_mx_how how);

/* `name` and `small` are the call's in both spellings, "Bcast" and "bcast";
   uses a variable `request` (MPI_Request *). The MPI error code. */
#define MGDS_MX_ISSUE(how, name, small, ...)                                   \
    ((how) == MGDS_MX_NONBLOCKING ? MPI_I##small(__VA_ARGS__, request)         \
     : (how) == MGDS_MX_PERSISTENT                                             \
         ? MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request)              \
         : MPI_##name(__VA_ARGS__))

#endif
