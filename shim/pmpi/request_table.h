/*
 * Requests of ours by the handle of the MPI below: what Wait, Test, Start and
 * Request_free must know of the requests they are given. And the list of
 * orphans: requests that the program has freed while they were ACTIVE, and
 * records that are LINGERING. They are off the table.
 *
 * The MPI below gives a handle to another thread as soon as it has completed or
 * freed the request, which is before its call returns to us. So:
 *
 *   GENERALIZED  is off the table before the handle goes: MPI's free function
 *                takes it off
 *   PERSISTENT, TEMPLATE
 *                is off the table before Request_free is forwarded, and comes
 *                back if that fails; completion keeps the handle
 *   SEND         stays while a completion call is forwarded, which may not
 *                complete it, and carries a serial: what is done to it after
 *                the call is done to the entry that was there before the call,
 *                or not at all
 *
 * A handle that is added again was therefore completed by another thread that
 * has not come back from the call yet, or by a call that we did not see, or is
 * one MPICH gives to all sends that are complete at once; in all three cases
 * the older entry is done, and goes.
 *
 * An orphan is tested by one thread at a time, and stays in the list meanwhile,
 * for who waits for all of a communicator. An error handler that jumps out of
 * the test leaves the orphan behind: it is over, and nobody waits for it.
 *
 * Concurrency. Table and list are under one lock (SHORT). The table grows with
 * what is in it: a search passes two others on average, at most.
 */
#ifndef MGDS_PMPI_REQUEST_TABLE_H
#define MGDS_PMPI_REQUEST_TABLE_H

#include "shim/pmpi/request.h"

/* What the table has of a handle. */
struct mgds_request_seen {
    enum mgds_request_kind kind;  /* 0: not ours */
    struct mgds_request *request; /* NULL for a SEND, which another thread's
                                     add may end at any time */
    uint64_t serial;
};

/* How many entries and orphans there are: atomic. */
extern unsigned mgds_requests_alive;

/* Is there anything to be looked up? One load. */
static inline bool mgds_requests_any(void)
{
    return __atomic_load_n(&mgds_requests_alive, __ATOMIC_RELAXED) != 0;
}

/* How many entries this thread has added. */
extern _Thread_local unsigned mgds_requests_added
    __attribute__((visibility("hidden")));

/* The table has the caller's reference from here on. The older entry of the
 * handle, which is the caller's, or NULL. For request.c. */
struct mgds_request *mgds_requests_insert(struct mgds_request *request);

/* Before a call is forwarded: what is behind the handle. */
struct mgds_request_seen mgds_requests_look(MPI_Request handle);

/* After it: is that entry still there? */
bool mgds_requests_still(MPI_Request handle, uint64_t serial);

/* The entry of a request that is no SEND, else NULL. */
struct mgds_request *mgds_requests_find(MPI_Request handle);

/* The same if these are its functions, else NULL. */
struct mgds_request *mgds_requests_find_of(MPI_Request handle,
                                           const struct mgds_request_ops *ops);

/* Takes a SEND off the table: the caller owns it. NULL if that entry, which
 * look has seen, is gone. */
struct mgds_request *mgds_requests_take_send(MPI_Request handle,
                                             uint64_t serial);

/* Takes a request that is no SEND off the table, if it is still there: then the
 * caller owns the table's reference. */
bool mgds_requests_remove(struct mgds_request *request);

/* Takes any entry off the table; NULL if there is none. */
struct mgds_request *mgds_requests_take_any(void);

/* The list has the caller's reference from here on. */
void mgds_requests_add_orphan(struct mgds_request *request);

/* How many orphans there are is one load, so that calls ask first. */
bool mgds_requests_have_orphans(void);

/* Is one of them of the communicator, or may be (receives of matched probes do
 * not say whose they are)? NULL: is there any? What this thread left behind, or
 * is in the midst of, does not count: it could not wait for it. */
bool mgds_requests_have_orphans_of(const MPI_Comm *comm);

/* The first that nobody tests, for this thread to test; or NULL. */
struct mgds_request *mgds_requests_first_orphan(void);

/* Gives one back, or, if it is done, takes it off the list for the caller; and
 * the next that nobody tests. */
struct mgds_request *mgds_requests_next_orphan(struct mgds_request *orphan,
                                               bool done);

/* Requests that were passed on the way to others, ever: for tests of what a
 * search costs. */
uint64_t mgds_requests_passed(void);

#endif
