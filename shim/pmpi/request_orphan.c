/* Requests that the program freed while they were active. */
#include "shim/pmpi/request_orphan.h"

#include <sched.h>
#include <time.h>

#include "shim/base/log.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own_handle.h"
#include "shim/pmpi/pulling.h"
#include "shim/pmpi/request_table.h"

enum { DRAIN_SECONDS = 10 };

/* Nobody waits for it, so nobody is told of its errors. */
static bool is_complete_below(struct mgds_request *orphan)
{
    MPI_Status status;
    int flag = 0;
    int rc = (int)MGDS_NEXT(Test, 3)((mgds_word)&orphan->handle,
                                     (mgds_word)&flag, (mgds_word)&status);

    if (rc == MPI_SUCCESS && !flag)
        return false;
    (void)mgds_request_land(orphan, &status, rc == MPI_SUCCESS);
    return true;
}

static bool is_done(struct mgds_request *orphan)
{
    if (orphan->state == MGDS_REQUEST_LINGERING)
        return !orphan->ops->busy(orphan);
    if (orphan->ops->kind == MGDS_REQUEST_IS_GENERALIZED)
        return mgds_grequest_poll(orphan);
    if (orphan->ops->idle && orphan->ops->idle(orphan))
        return false;
    if (orphan->state == MGDS_REQUEST_ACTIVE && !is_complete_below(orphan))
        return false;
    return !orphan->ops->poll || mgds_request_poll_copies(orphan) != 0;
}

/* It is off the list. A persistent request was kept from the MPI below until
 * now. */
static void end(struct mgds_request *orphan)
{
    if (orphan->ops->kind == MGDS_REQUEST_IS_PERSISTENT)
        MGDS_NEXT(Request_free, 1)((mgds_word)&orphan->handle);
    mgds_request_put(orphan);
}

void mgds_request_orphans_poll(void)
{
    struct mgds_request *orphan;

    if (!mgds_requests_have_orphans())
        return;
    orphan = mgds_requests_first_orphan();
    while (orphan) {
        bool done = is_done(orphan);
        struct mgds_request *next = mgds_requests_next_orphan(orphan, done);

        if (done)
            end(orphan);
        orphan = next;
    }
    mgds_pulling_settle();
}

void mgds_request_orphans_wait(MPI_Comm comm)
{
    while (mgds_requests_have_orphans_of(&comm)) {
        mgds_request_orphans_poll();
        mgds_below_progress();
        sched_yield();
    }
}

static time_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* Of a communicator, or, without, all of them. A freed send may still need us
 * to be received. What is left after that has no partner: its memory stays, for
 * the MPI below may yet touch it. */
static void drain(const MPI_Comm *comm)
{
    time_t end_of_drain = now() + DRAIN_SECONDS;

    while (mgds_requests_have_orphans_of(comm) && now() < end_of_drain) {
        mgds_request_orphans_poll();
        mgds_below_progress();
        sched_yield();
    }
    if (mgds_requests_have_orphans_of(comm))
        mgds_warn("requests with GPU memory were freed and are still not "
                  "complete at MPI_Finalize, or short messages were sent and "
                  "are not received: they have no partner, or one that has not "
                  "come for 10 s");
}

void mgds_request_orphans_drain(MPI_Comm comm)
{
    drain(&comm);
}

/* What the program completes in MPI_Finalize, out of callbacks that MPI calls
 * there, is for us if the handle is our own: that is put back. */
static void empty_table(void)
{
    struct mgds_request *request, *own = NULL;

    while ((request = mgds_requests_take_any())) {
        if (mgds_own_handle_is(request->handle)) {
            request->next = own;
            own = request;
        } else if (request->ops->kind != MGDS_REQUEST_IS_GENERALIZED) {
            mgds_request_put(request);
        }
    }
    while ((request = own)) {
        own = request->next;
        mgds_requests_insert(request);
    }
}

void mgds_requests_fini(void)
{
    if (!mgds_requests_any())
        return;
    drain(NULL);
    empty_table();
}
