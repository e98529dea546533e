/*
 * Bodies of what else is done with a request: asking for its status, and
 * letting go of it.
 */
#include <mpi.h>
#include <stddef.h>

#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/greq.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/stream_req.h"
#include "shim/pmpi/wave.h"

/* Complete below, but perhaps not yet up: MPI is told "done" once it is. */
static int peek(struct mgds_staged *staged, int *flag, const MPI_Status *status)
{
    int rc = 0;

    if (staged->state == MGDS_STAGED_ACTIVE && staged->ops->landed) {
        staged->state = MGDS_STAGED_LANDED;
        rc = staged->ops->landed(staged, status);
    }
    if (rc >= 0 && staged->state == MGDS_STAGED_LANDED)
        rc = staged->ops->poll(staged);
    if (rc < 0)
        return mgds_mpi_error(staged->comm, rc);
    *flag = staged->state != MGDS_STAGED_LANDED || rc == 1;
    return MPI_SUCCESS;
}

/* MPICH asks no generalized request here how it is, so we do. */
static mgds_word status_of(struct mgds_wave *wave, mgds_word flag)
{
    struct mgds_staged *staged = wave->drops[0].seen.staged;
    struct mgds_greq *greq = mgds_greq_of(staged);
    int rc;

    mgds_wave_drive(wave);
    mgds_greq_watch();
    rc = (int)MGDS_FORWARD(3)((mgds_word)wave->drops[0].handle, flag,
                              (mgds_word)wave->statuses);
    mgds_greq_watched();
    if (rc != MPI_SUCCESS || !*(int *)flag)
        return (mgds_word)rc;
    if (greq)
        return (mgds_word)mgds_greq_error(greq);
    if (staged)
        return (mgds_word)peek(staged, (int *)flag, wave->statuses);
    return MPI_SUCCESS;
}

mgds_word mgds_own_Request_get_status(mgds_word request, mgds_word flag,
                                      mgds_word status)
{
    MPI_Request handle = (MPI_Request)request;
    struct mgds_wave wave;
    mgds_word result;

    if (!mgds_staged_any() ||
        mgds_wave_init(&wave, &handle, 1, (MPI_Status *)status) <= 0)
        return MGDS_FORWARD(3)(request, flag, status);
    result = status_of(&wave, flag);
    mgds_wave_fini(&wave);
    return result;
}

/*
 * An active send or persistent request is kept from the MPI below until it is
 * done, for its memory is ours. A generalized request is let go of below, which
 * tells us (grequest.c).
 */
static struct mgds_staged *take(MPI_Request handle)
{
    struct mgds_staged_seen seen = mgds_staged_look(handle);

    switch (seen.kind) {
    case MGDS_STAGED_SEND:
        return mgds_staged_take_send(handle, seen.serial);
    case MGDS_STAGED_PERSISTENT:
        mgds_staged_remove(seen.staged);
        return seen.staged;
    default:
        return NULL;
    }
}

/* One of our own operations, which goes on by itself. MPI keeps a generalized
 * request that is freed until it is told that it is complete. */
static int let_go(MPI_Request *handle, struct mgds_greq *greq)
{
    const struct mgds_stream_req *req = greq->state;

    /* another thread, which MPI forbids */
    if (req->taken)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_REQUEST,
                               "request is 0x%08x, for which another thread "
                               "waits",
                               (unsigned)*handle);
    mgds_greq_discard(greq);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

mgds_word mgds_own_Request_free(mgds_word request)
{
    MPI_Request *handle = (MPI_Request *)request;
    struct mgds_staged *staged;
    struct mgds_greq *greq;
    mgds_word result;

    if (!mgds_staged_any() || !handle)
        return MGDS_FORWARD(1)(request);
    if (mgds_stream_req_find(*handle, &greq))
        return (mgds_word)let_go(handle, greq);
    staged = take(*handle);
    if (!staged)
        return MGDS_FORWARD(1)(request);
    if (staged->state == MGDS_STAGED_ACTIVE) {
        mgds_staged_orphan(staged);
        *handle = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    result = MGDS_FORWARD(1)(request);
    /* still there below, and the program's: nobody else has the handle */
    if ((int)result != MPI_SUCCESS && *handle == staged->handle)
        mgds_staged_add(staged);
    else
        staged->ops->destroy(staged);
    return result;
}
