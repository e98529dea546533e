/*
 * Bodies that make persistent requests, and Start. Those of stream
 * communicators are made and started elsewhere (stream_p2p.c, stream_start.c).
 * The request of the MPI below stands over a bounce for as long as it lives.
 */
#include "shim/pmpi/persist.h"

#include <errno.h>
#include <mpi.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/call.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/kept.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/p2p.h"
#include "shim/pmpi/part.h"
#include "shim/pmpi/persist_kept.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_p2p.h"
#include "shim/pmpi/stream_start.h"

static struct mgds_persist *persist_of(struct mgds_request *request)
{
    return (struct mgds_persist *)request;
}

static int start(struct mgds_request *request)
{
    struct mgds_persist *persist = persist_of(request);

    if (persist->way == MGDS_PERSIST_SEND)
        return mgds_bounce_down(persist->side.bounce, 0, SIZE_MAX);
    if (persist->way == MGDS_PERSIST_PART_RECV)
        mgds_part_restart(persist);
    return 0;
}

static int landed(struct mgds_request *request, MPI_Status *status)
{
    struct mgds_persist *persist = persist_of(request);

    if (persist->way == MGDS_PERSIST_PART_RECV)
        return mgds_part_landed(persist);
    if (persist->way != MGDS_PERSIST_RECV || mgds_below_was_cancelled(status))
        return 0;
    return mgds_side_land(&persist->side, status);
}

static int poll(struct mgds_request *request)
{
    return mgds_side_poll(&persist_of(request)->side);
}

static void correct(const struct mgds_request *request, MPI_Status *status)
{
    const struct mgds_persist *persist = (const struct mgds_persist *)request;

    if (persist->side.direct)
        mgds_direct_recv_correct(persist->side.direct, status);
}

static void release(struct mgds_request *request)
{
    struct mgds_persist *persist = persist_of(request);

    mgds_side_fini(&persist->side);
    mgds_lock_fini(&persist->lock);
    free(persist->arrived);
}

static bool pulls(const struct mgds_request *request)
{
    return mgds_side_pulls(&((const struct mgds_persist *)request)->side);
}

static const struct mgds_request_ops persist_ops = {
    .kind = MGDS_REQUEST_IS_PERSISTENT,
    .start = start,
    .landed = landed,
    .poll = poll,
    .pulls = pulls,
    .correct = correct,
    .release = release,
};

static int persist_init(struct mgds_persist *persist, int partitions)
{
    persist->partitions = partitions;
    persist->arrived = mgds_calloc((size_t)partitions + 1, sizeof(bool));
    return persist->arrived ? mgds_lock_init(&persist->lock, MGDS_LOCK_LAUNCH)
                            : -ENOMEM;
}

int mgds_persist_create(struct mgds_persist **out, const struct mgds_side *side,
                        MPI_Comm comm, enum mgds_persist_way way,
                        int partitions)
{
    struct mgds_persist *persist =
        mgds_request_new(sizeof(*persist), &persist_ops, comm);
    int rc = persist ? persist_init(persist, partitions) : -ENOMEM;

    if (rc < 0) {
        struct mgds_side gone = *side;

        mgds_side_fini(&gone);
        if (persist)
            free(persist->arrived);
        free(persist);
        return rc;
    }
    persist->side = *side;
    persist->way = way;
    if (partitions > 0)
        persist->bytes = mgds_bounce_bytes(side->bounce) / (size_t)partitions;
    *out = persist;
    return 0;
}

struct mgds_persist *mgds_persist_find(MPI_Request handle)
{
    return (struct mgds_persist *)mgds_requests_find_of(handle, &persist_ops);
}

/* addr, count, type, peer, tag, comm, request */
static mgds_word make(struct mgds_call_words *call, enum mgds_persist_way way)
{
    struct mgds_scomm *scomm = mgds_scomm_of(call->word[5]);
    MPI_Comm comm = (MPI_Comm)call->word[5];
    struct mgds_persist *persist;
    struct mgds_side side;
    enum mgds_side_way side_way =
        way == MGDS_PERSIST_SEND ? MGDS_SIDE_SEND : MGDS_SIDE_RECV;
    int rc;

    if (scomm)
        return mgds_stream_p2p_init(call, scomm);
    rc = mgds_p2p_side(&side, call, 0, call->word[3], side_way);
    if (rc == 0)
        return mgds_call_forward(call);
    if (rc == 1)
        rc = mgds_persist_create(&persist, &side, comm, way, 0);
    if (rc != 0)
        return (mgds_word)mgds_mpi_error(comm, rc);
    persist->from = mgds_direct_match_of(call);
    mgds_call_put(call, 0, &side);
    return mgds_request_made(&persist->request, (MPI_Request *)call->word[6],
                             mgds_call_forward(call));
}

static mgds_word send_init(struct mgds_call_words *call)
{
    return make(call, MGDS_PERSIST_SEND);
}

static mgds_word recv_init(struct mgds_call_words *call)
{
    return make(call, MGDS_PERSIST_RECV);
}

MGDS_CALL_BODIES(Send_init, 7, send_init)
MGDS_CALL_BODIES(Ssend_init, 7, send_init)
MGDS_CALL_BODIES(Rsend_init, 7, send_init)
MGDS_CALL_BODIES(Bsend_init, 7, send_init)
MGDS_CALL_BODIES(Recv_init, 7, recv_init)

/* Starting. First all copies are queued, then all are waited for: the sends
 * must be posted in the order of the array, with their data. */

static int each(const MPI_Request *requests, int count,
                int (*prepare)(struct mgds_request *))
{
    for (int i = 0; i < count; i++) {
        struct mgds_request *request = mgds_requests_find(requests[i]);
        int rc = 0;

        if (request && request->ops->start &&
            request->state == MGDS_REQUEST_INACTIVE)
            rc = prepare(request);
        if (rc < 0)
            return mgds_mpi_error(request->comm, rc);
    }
    return MPI_SUCCESS;
}

static int queue(struct mgds_request *request)
{
    return request->ops->start(request);
}

/* The MPI below refuses what is active there. */
static int check(const MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++) {
        const struct mgds_request *request = mgds_requests_find(requests[i]);

        if (request && request->state == MGDS_REQUEST_GIVEN)
            return mgds_mpi_refuse(request->comm, MPI_ERR_REQUEST,
                                   "request is 0x%08x, which is active",
                                   (unsigned)requests[i]);
    }
    return MPI_SUCCESS;
}

static int prepare(const MPI_Request *requests, int count)
{
    int rc;

    mgds_request_orphans_poll();
    rc = check(requests, count);
    if (rc == MPI_SUCCESS)
        rc = each(requests, count, queue);
    return rc == MPI_SUCCESS ? each(requests, count, mgds_request_wait_copies)
                             : rc;
}

/* The MPI below refuses requests that are active. */
static bool may_be_given(const struct mgds_persist *persist)
{
    return persist && persist->side.direct &&
           (persist->request.state == MGDS_REQUEST_INACTIVE ||
            persist->request.state == MGDS_REQUEST_COPYING);
}

/* To the receives among them that match it goes what probes have kept, in the
 * order of the array: how many are left for the MPI below, in others; or
 * negative errno. */
static int give_kept(MPI_Request *others, const MPI_Request *requests,
                     int count)
{
    int left = 0;

    for (int i = 0; i < count; i++) {
        struct mgds_persist *persist = mgds_persist_find(requests[i]);
        int rc = may_be_given(persist) ? mgds_persist_give(persist) : 0;

        if (rc < 0)
            return rc;
        if (rc == 0)
            others[left++] = requests[i];
    }
    return left;
}

/* Start, or Startall. */
typedef mgds_word start_call(mgds_word count, MPI_Request *requests);

/* Kept messages are ahead of those below. *rc: negative errno. */
static mgds_word start_behind_kept(start_call *call, int count,
                                   const MPI_Request *requests, int *rc)
{
    MPI_Request *others = mgds_malloc((size_t)count * sizeof(*others));
    mgds_word result = MPI_SUCCESS;

    *rc = others ? give_kept(others, requests, count) : -ENOMEM;
    if (*rc > 0)
        result = call((mgds_word)*rc, others);
    free(others);
    return result;
}

/* Below, between enter and leave of what probes keep where they may. */
static mgds_word forward_start(start_call *call, mgds_word count,
                               MPI_Request *requests)
{
    mgds_word result;
    int rc = 0;

    if (!mgds_direct_armed())
        return call(count, requests);
    mgds_kept_enter();
    if (mgds_kept_any() && (int)count > 0)
        result = start_behind_kept(call, (int)count, requests, &rc);
    else
        result = call(count, requests);
    mgds_kept_leave();
    return rc < 0 ? (mgds_word)mgds_mpi_error(MPI_COMM_NULL, rc) : result;
}

static mgds_word start_one(mgds_word count, MPI_Request *requests)
{
    (void)count;
    return MGDS_FORWARD(1)((mgds_word)requests);
}

static mgds_word start_all(mgds_word count, MPI_Request *requests)
{
    return MGDS_FORWARD(2)(count, (mgds_word)requests);
}

static mgds_word started(const MPI_Request *requests, int count,
                         mgds_word result)
{
    for (int i = 0; i < count && (int)result == MPI_SUCCESS; i++) {
        struct mgds_request *request = mgds_requests_find(requests[i]);

        if (request && request->ops->start &&
            request->state != MGDS_REQUEST_ACTIVE &&
            request->state != MGDS_REQUEST_GIVEN)
            mgds_request_step(request, MGDS_REQUEST_ON_START);
    }
    return result;
}

mgds_word mgds_own_Start(mgds_word request)
{
    MPI_Request *requests = (MPI_Request *)request;
    int rc;

    if (!mgds_requests_any() || !requests)
        return MGDS_FORWARD(1)(request);
    if (mgds_stream_start_concerns(requests, 1))
        return (mgds_word)mgds_stream_start_all(requests, 1);
    rc = prepare(requests, 1);
    if (rc != MPI_SUCCESS)
        return (mgds_word)rc;
    return started(requests, 1, forward_start(start_one, 1, requests));
}

static mgds_word start_below(mgds_word count, MPI_Request *requests)
{
    int rc = prepare(requests, (int)count);

    if (rc != MPI_SUCCESS)
        return (mgds_word)rc;
    return started(requests, (int)count,
                   forward_start(start_all, count, requests));
}

/* Some are of stream communicators: those are checked first, and started last.
 * The order between them and others is nobody's. */
static mgds_word start_mixed(mgds_word count, MPI_Request *requests)
{
    MPI_Request *others;
    mgds_word rc = (mgds_word)mgds_stream_start_check(requests, (int)count);
    int left;

    if ((int)rc != MPI_SUCCESS)
        return rc;
    others = mgds_malloc((size_t)(int)count * sizeof(*others));
    if (!others)
        return (mgds_word)mgds_mpi_error(MPI_COMM_NULL, -ENOMEM);
    left = mgds_stream_start_others(others, requests, (int)count);
    if (left > 0)
        rc = start_below((mgds_word)left, others);
    free(others);
    if ((int)rc != MPI_SUCCESS)
        return rc;
    return (mgds_word)mgds_stream_start_all(requests, (int)count);
}

mgds_word mgds_own_Startall(mgds_word count, mgds_word array)
{
    MPI_Request *requests = (MPI_Request *)array;

    if (!mgds_requests_any() || !requests)
        return MGDS_FORWARD(2)(count, array);
    if (mgds_stream_start_concerns(requests, (int)count))
        return start_mixed(count, requests);
    return start_below(count, requests);
}
