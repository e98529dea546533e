/* libmpix_sim_mpi.so: preloaded in test and simulation runs, never part of
 * the product. It makes MPICH over UCX friendlier where ranks outnumber cores:
 *  - a rank whose ucp_worker_progress finds nothing to do gives its core away;
 *  - MPI_Finalize ends, also with 3 and more ranks over UCX's tcp transport.
 * With another MPI, or without MPI, every call here passes straight through. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <mpi.h>

#include "sim/mpi/next.h"

#define MGDS_EXPORT __attribute__((visibility("default")))

/* Polls in a row that found nothing, before the core is given away: first to
 * whoever is runnable, then for a while. A message on its way arrives within
 * the first; the second is for ranks that wait for a slow one. */
enum { MGDS_IDLE_YIELD = 64, MGDS_IDLE_NAP = 2048, MGDS_NAP_NS = 20000 };

MGDS_EXPORT unsigned ucp_worker_progress(void *worker);
MGDS_EXPORT void *ucp_disconnect_nb(void *endpoint);
MGDS_EXPORT int MPI_Finalize(void);
MGDS_EXPORT int PMPI_Finalize(void);

static _Thread_local unsigned idle_polls;
static _Thread_local int in_finalize;

static void give_core_away(void)
{
    const struct timespec nap = {.tv_nsec = MGDS_NAP_NS};

    if (idle_polls >= MGDS_IDLE_NAP)
        nanosleep(&nap, NULL);
    else
        sched_yield();
}

/* A caller of UCX has UCX, unless its library hides from the loader: say so
 * rather than call null. */
static void require_ucx(bool found)
{
    if (found)
        return;
    fputs("libmpix_sim_mpi.so: called for UCX, but no libucp is loaded "
          "behind it: leave this library out of LD_PRELOAD\n",
          stderr);
    abort();
}

unsigned ucp_worker_progress(void *worker)
{
    const struct mgds_sim_next *next = mgds_sim_next();
    unsigned events;

    require_ucx(next->worker_progress != NULL);
    events = next->worker_progress(worker);
    if (!next->mpich)
        return events;
    if (events > 0) {
        idle_polls = 0;
        return events;
    }
    if (idle_polls < MGDS_IDLE_NAP)
        idle_polls++;
    if (idle_polls >= MGDS_IDLE_YIELD)
        give_core_away();
    return 0;
}

/* MPICH 4.0.2 closes its endpoints with a flush that may have to finish a
 * connection, and a peer that is already done waits in PMI, where nothing
 * makes progress. Behind a barrier there is nothing left to flush: null is
 * UCX's "done", and destroying the worker frees the endpoint. */
void *ucp_disconnect_nb(void *endpoint)
{
    const struct mgds_sim_next *next = mgds_sim_next();

    if (in_finalize)
        return NULL;
    require_ucx(next->disconnect != NULL);
    return next->disconnect(endpoint);
}

static bool world_is_running(const struct mgds_sim_next *next)
{
    int begun = 0;
    int ended = 0;

    if (!next->initialized || !next->finalized || !next->barrier)
        return false;
    return next->initialized(&begun) == MPI_SUCCESS && begun &&
           next->finalized(&ended) == MPI_SUCCESS && !ended;
}

/* finalize is the next definition under the name that the caller used. A tool
 * between us and MPI comes back through the other name: that call is nested,
 * and only passed on. */
static int finalize_world(int (*finalize)(void))
{
    const struct mgds_sim_next *next = mgds_sim_next();
    int rc;

    if (!finalize) {
        fputs("libmpix_sim_mpi.so: MPI_Finalize called, but no MPI is loaded: "
              "link the program with MPI\n",
              stderr);
        return MPI_ERR_OTHER;
    }
    if (in_finalize || !next->mpich || !world_is_running(next))
        return finalize();
    rc = next->barrier(MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS)
        return rc;
    in_finalize = 1;
    rc = finalize();
    in_finalize = 0;
    return rc;
}

int MPI_Finalize(void)
{
    return finalize_world(mgds_sim_next()->finalize);
}

int PMPI_Finalize(void)
{
    return finalize_world(mgds_sim_next()->pfinalize);
}
