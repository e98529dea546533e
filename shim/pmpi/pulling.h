/*
 * Receives whose pulls the calling thread has begun in the call that it is in.
 * Their senders wait until the bytes are copied, and are told by a call of
 * ours. The program's next one may be another that waits for those senders
 * (MPI_Barrier): so no call leaves a pull under way (frame.h), nor waits in the
 * MPI below while one is.
 *
 * Each thread has its own list, and a reference to what is in there, which
 * another thread may complete meanwhile.
 */
#ifndef MGDS_PMPI_PULLING_H
#define MGDS_PMPI_PULLING_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/pmpi/words.h"

/* No file that includes mpi.h: wrap.c defines MPI's functions. */
struct mgds_request;

extern _Thread_local struct mgds_request *mgds_pulling
    __attribute__((visibility("hidden")));

static inline bool mgds_pulling_any(void)
{
    return mgds_pulling != NULL;
}

/* Once for each pull; takes a reference. */
void mgds_pulling_add(struct mgds_request *request);

/* Empties the list: its first request, and by request->pulling the others, with
 * their references; or NULL. */
struct mgds_request *mgds_pulling_take(void);

/* Waits for all of them. The call's result goes in and out, so that who asks
 * first need not keep it. In pulling_end.c, for grequest.c adds to the list. */
mgds_word mgds_pulling_end(mgds_word result);

/* Before a call below that may wait. */
static inline void mgds_pulling_settle(void)
{
    if (mgds_pulling_any())
        (void)mgds_pulling_end(0);
}

#endif
