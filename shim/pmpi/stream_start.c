/* Starts of persistent requests of stream communicators. Whatever may call an
 * error handler comes first, for a handler may free the requests. */
#include "shim/pmpi/stream_start.h"

#include <sched.h>

#include "shim/gds/comm/comm.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/enqueue.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/watched.h"

bool mgds_stream_start_concerns(const MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++)
        if (mgds_stream_persist_find(requests[i]))
            return true;
    return false;
}

int mgds_stream_start_others(MPI_Request *others, const MPI_Request *requests,
                             int count)
{
    int left = 0;

    for (int i = 0; i < count; i++)
        if (!mgds_stream_persist_find(requests[i]))
            others[left++] = requests[i];
    return left;
}

/* The first that is active, or comes twice, or -1. */
static int first_active(const MPI_Request *requests, int count)
{
    int found = -1;

    for (int i = 0; i < count && found < 0; i++) {
        struct mgds_stream_persist *persist =
            mgds_stream_persist_find(requests[i]);

        if (!persist)
            continue;
        if (persist->current || persist->chosen)
            found = i;
        persist->chosen = true;
    }
    for (int i = 0; i < count; i++) {
        struct mgds_stream_persist *persist =
            mgds_stream_persist_find(requests[i]);

        if (persist)
            persist->chosen = false;
    }
    return found;
}

/* Their communicators' errors that nobody was told of; enqueued: and whether
 * their streams may be used. */
static int begin(const MPI_Request *requests, int count, bool enqueued)
{
    const struct mgds_scomm *last = NULL; /* as a rule that of all */
    int rc = MPI_SUCCESS;

    mgds_request_orphans_poll();
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
        struct mgds_stream_persist *persist =
            mgds_stream_persist_find(requests[i]);
        struct mgds_scomm *scomm = persist ? persist->scomm : NULL;

        if (!scomm || scomm == last)
            continue;
        last = scomm;
        mgds_scomm_get(scomm);
        mgds_scomm_raise(scomm);
        if (enqueued)
            rc = mgds_enqueue_check(scomm);
        mgds_scomm_put(scomm);
    }
    return rc;
}

int mgds_stream_start_check(const MPI_Request *requests, int count)
{
    int active = first_active(requests, count);
    const struct mgds_stream_persist *persist;

    if (active < 0)
        return MPI_SUCCESS;
    persist = mgds_stream_persist_find(requests[active]);
    return mgds_mpi_refuse(mgds_scomm_teller(persist->scomm), MPI_ERR_REQUEST,
                           "request %d of %d is 0x%08x, which is active: "
                           "complete it first",
                           active, count, (unsigned)requests[active]);
}

/* Until the streams have passed all waits for what they started before. */
static void wait_for_streams(const MPI_Request *requests, int count)
{
    mgds_groups_flush();
    mgds_watched_begin("MPI_Start");
    for (int i = 0; i < count; i++) {
        const struct mgds_stream_persist *persist =
            mgds_stream_persist_find(requests[i]);

        while (persist && mgds_stream_persist_is_under_way(persist)) {
            mgds_below_progress();
            sched_yield();
        }
    }
    mgds_watched_end();
}

static int start_each(const MPI_Request *requests, int count, bool enqueued)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
        struct mgds_stream_persist *persist =
            mgds_stream_persist_find(requests[i]);

        if (persist)
            rc = mgds_stream_persist_start(persist, enqueued);
    }
    return rc;
}

/* As few launches as can be: a group, on the stream of the first, which keeps
 * that. Without memory for it they go one by one. */
static int start_together(const MPI_Request *requests, int count)
{
    struct mgds_gstream *gpu;
    bool grouped;
    int rc;

    if (count <= 1)
        return start_each(requests, count, true);
    gpu = mgds_scomm_gpu(mgds_stream_persist_find(requests[0])->scomm);
    grouped = mgds_group_start(gpu, false) == 0;
    rc = start_each(requests, count, true);
    if (grouped)
        mgds_group_end(gpu, false);
    return rc;
}

int mgds_stream_start_all(const MPI_Request *requests, int count)
{
    int rc = begin(requests, count, false);

    if (rc == MPI_SUCCESS)
        rc = mgds_stream_start_check(requests, count);
    if (rc != MPI_SUCCESS)
        return rc;
    wait_for_streams(requests, count);
    return start_each(requests, count, false);
}

/* The number of the first that is none of ours, or -1. */
static int first_other(const MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++)
        if (!mgds_stream_persist_find(requests[i]))
            return i;
    return -1;
}

static int enqueue(const MPI_Request *requests, int count)
{
    int rc = begin(requests, count, true);
    int other;

    if (rc != MPI_SUCCESS)
        return rc;
    other = first_other(requests, count);
    if (other >= 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_REQUEST,
                               "request %d of %d is 0x%08x, which is no "
                               "persistent request of a stream communicator",
                               other, count, (unsigned)requests[other]);
    rc = mgds_stream_start_check(requests, count);
    return rc == MPI_SUCCESS ? start_together(requests, count) : rc;
}

int mgds_mpix_Start_enqueue(MPI_Request *request)
{
    if (!request)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "request");
    return enqueue(request, 1);
}

int mgds_mpix_Startall_enqueue(int count, MPI_Request requests[])
{
    if (count < 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_COUNT,
                               "count is %d, must be 0 or more", count);
    if (count > 0 && !requests)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "requests");
    return enqueue(requests, count);
}
