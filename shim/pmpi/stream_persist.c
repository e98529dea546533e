/* Persistent requests of stream communicators. */
#include "shim/pmpi/stream_persist.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/gds/mem/layout.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/self.h"
#include "shim/pmpi/stream_req.h"

static struct mgds_stream_persist *persist_of(struct mgds_request *request)
{
    return (struct mgds_stream_persist *)request;
}

static void free_handle(struct mgds_request *request)
{
    if (request->handle != MPI_REQUEST_NULL)
        MGDS_NEXT(Request_free, 1)((mgds_word)&request->handle);
}

static void release(struct mgds_request *request)
{
    struct mgds_stream_persist *persist = persist_of(request);

    if (persist->current)
        mgds_stream_req_leave(persist->current);
    free_handle(request);
    if (persist->xfer.buffer.layout)
        mgds_buffer_put(&persist->xfer.buffer);
    mgds_scomm_put(persist->scomm);
}

static bool is_busy(const struct mgds_request *request)
{
    return mgds_stream_persist_is_under_way(
        (const struct mgds_stream_persist *)request);
}

static const struct mgds_request_ops persist_ops = {
    .kind = MGDS_REQUEST_IS_TEMPLATE, .release = release, .busy = is_busy};

/* A handle of the MPI below is like no other of the program's. */
static int make_handle(struct mgds_stream_persist *persist)
{
    MPI_Comm comm = mgds_self_kept();

    if (comm == MPI_COMM_NULL)
        comm = persist->scomm->handle;
    if ((int)MGDS_NEXT(Recv_init,
                       7)(0, 0, (mgds_word)MPI_BYTE, (mgds_word)MPI_PROC_NULL,
                          0, (mgds_word)comm,
                          (mgds_word)&persist->request.handle) == MPI_SUCCESS)
        return 0;
    persist->request.handle = MPI_REQUEST_NULL;
    return -ENOMEM;
}

static int make(struct mgds_stream_persist **out,
                const struct mgds_stream_call *call, bool buffered)
{
    struct mgds_stream_persist *persist =
        mgds_request_new(sizeof(*persist), &persist_ops, call->scomm->handle);
    int rc;

    if (!persist)
        return -ENOMEM;
    persist->scomm = call->scomm;
    mgds_scomm_get(persist->scomm);
    persist->receives = call->receives;
    rc = mgds_stream_call_prepare(&persist->xfer, call);
    if (rc == 0)
        rc = make_handle(persist);
    if (rc < 0) {
        mgds_request_put(&persist->request);
        return rc;
    }
    persist->xfer.buffered = buffered;
    persist->xfer.name = (uint32_t)persist->request.handle;
    *out = persist;
    return 0;
}

int mgds_stream_persist_make(MPI_Request *request,
                             const struct mgds_stream_call *call, bool buffered)
{
    struct mgds_stream_persist *persist;
    int rc = make(&persist, call, buffered);

    if (rc < 0)
        return mgds_stream_call_raise(call, rc);
    mgds_request_step(&persist->request, MGDS_REQUEST_ON_INIT);
    mgds_request_add(&persist->request);
    *request = persist->request.handle;
    return MPI_SUCCESS;
}

struct mgds_stream_persist *mgds_stream_persist_find(MPI_Request handle)
{
    return (struct mgds_stream_persist *)mgds_requests_find_of(handle,
                                                               &persist_ops);
}

struct mgds_stream_persist *
mgds_stream_persist_of(const struct mgds_stream_req *req)
{
    if (!req->place)
        return NULL;
    return MGDS_CONTAINER_OF(req->place, struct mgds_stream_persist, current);
}

/* The datatype may be freed: its bytes are told instead. */
static int raise_start(const struct mgds_stream_persist *persist, int rc)
{
    const struct mgds_buffer *buffer = &persist->xfer.buffer;
    const struct mgds_stream_call call = {
        .scomm = persist->scomm,
        .count = (MPI_Count)(buffer->layout->size * buffer->count),
        .type = MPI_BYTE,
        .peer = persist->xfer.peer,
        .receives = persist->receives};

    return mgds_stream_call_raise(&call, rc);
}

int mgds_stream_persist_start(struct mgds_stream_persist *persist,
                              bool enqueued)
{
    struct mgds_xfer xfer = persist->xfer;
    int rc = mgds_buffer_find_again(&xfer.buffer);

    xfer.gpu = rc == 1;
    xfer.enqueued = enqueued;
    if (rc >= 0)
        rc = mgds_stream_req_start_at(&persist->current, persist->scomm, &xfer,
                                      persist->receives);
    return rc < 0 ? raise_start(persist, rc) : MPI_SUCCESS;
}

bool mgds_stream_persist_is_under_way(const struct mgds_stream_persist *persist)
{
    if (__atomic_load_n(&persist->under_way, __ATOMIC_ACQUIRE) == 0)
        return false;
    mgds_op_progress();
    return __atomic_load_n(&persist->under_way, __ATOMIC_ACQUIRE) > 0;
}

/* What a stream's wait tells of a generation. */
struct lap {
    struct mgds_stream_persist *persist;
    struct mgds_op_sink sink; /* the program's status */
};

static struct mgds_spares laps = MGDS_SPARES_INIT(sizeof(struct lap));

static void store(void *arg, const struct mgds_op_status *status)
{
    const struct lap *lap = arg;

    if (lap->sink.store)
        lap->sink.store(lap->sink.arg, status);
}

/* Release: the status was stored, and the buffer is the program's. */
static void over(void *arg)
{
    struct lap *lap = arg;

    __atomic_fetch_sub(&lap->persist->under_way, 1, __ATOMIC_RELEASE);
    mgds_spares_give(&laps, lap);
}

int mgds_stream_persist_hand_over(struct mgds_stream_persist *persist,
                                  struct mgds_op_sink *sink)
{
    struct lap *lap = mgds_spares_take(&laps);

    if (!lap)
        return -ENOMEM;
    *lap = (struct lap){persist, *sink};
    *sink = (struct mgds_op_sink){.store = store, .arg = lap, .over = over};
    __atomic_fetch_add(&persist->under_way, 1, __ATOMIC_RELAXED);
    return 0;
}

void mgds_stream_persist_take_back(const struct mgds_op_sink *sink)
{
    over(sink->arg);
}

int mgds_stream_persist_cancel(struct mgds_stream_persist *persist)
{
    if (!persist->current)
        return mgds_mpi_refuse(mgds_scomm_teller(persist->scomm),
                               MPI_ERR_REQUEST,
                               "request is 0x%08x, which is not active",
                               (unsigned)persist->request.handle);
    mgds_op_cancel(persist->current->op);
    return MPI_SUCCESS;
}

/* Off the table first: the MPI below gives the handle to others then. */
int mgds_stream_persist_free(struct mgds_stream_persist *persist,
                             MPI_Request *request)
{
    mgds_requests_remove(&persist->request);
    if (persist->current)
        mgds_stream_req_leave(persist->current);
    free_handle(&persist->request);
    mgds_request_put(&persist->request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
