/*
 * Communication in stream order. Everything that can be said of the arguments
 * is said before anything is put on the stream.
 */
#include "shim/pmpi/enqueue.h"

#include <errno.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/stream/gstream.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_call.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"

static int lacks_stream(MPI_Comm teller)
{
    return mgds_mpi_refuse(teller, MPI_ERR_OTHER,
                           "comm has no GPU stream in this process: make it "
                           "with MPIX_Stream_comm_create and a stream of type "
                           "cudaStream_t");
}

/* A communicator that is none of ours: if it is one at all, it has no stream.
 * As MPICH, which tells both apart by the class. */
static int refuse_comm(MPI_Comm comm)
{
    int rc = mgds_mpi_check_comm(comm);

    return rc == MPI_SUCCESS ? lacks_stream(comm) : rc;
}

/* What is captured runs later, perhaps often. */
int mgds_enqueue_check_capture(struct mgds_gstream *gpu, MPI_Comm comm)
{
    int rc = mgds_gstream_capturing(gpu);

    if (rc < 0 && rc != -EBUSY)
        return mgds_mpi_error(comm, rc);
    if (rc == 0)
        return MPI_SUCCESS;
    return mgds_mpi_refuse(comm, MPI_ERR_UNSUPPORTED_OPERATION,
                           "the stream is being captured into a graph, which "
                           "this version cannot do: make the call outside of "
                           "the capture");
}

int mgds_enqueue_check(const struct mgds_scomm *scomm)
{
    struct mgds_gstream *gpu = mgds_scomm_gpu(scomm);

    if (!gpu)
        return lacks_stream(mgds_scomm_teller(scomm));
    return mgds_enqueue_check_capture(gpu, mgds_scomm_teller(scomm));
}

/* Finds the communicator, whose reference the caller has from then on, and
 * checks the rest. */
static int begin(struct mgds_stream_call *call, MPI_Comm comm)
{
    int rc;

    call->scomm = mgds_scomm_of((mgds_word)comm);
    if (!call->scomm)
        return refuse_comm(comm);
    call->enqueued = true;
    mgds_request_orphans_poll();
    mgds_scomm_raise(call->scomm);
    rc = mgds_stream_call_check(call);
    return rc == MPI_SUCCESS ? mgds_enqueue_check(call->scomm) : rc;
}

/* Statuses of operations that a stream waits for, in progress context. */

static void store_status(void *arg, const struct mgds_op_status *status)
{
    mgds_stream_status(arg, status);
}

static void store_in_array(void *arg, const struct mgds_op_status *status)
{
    mgds_stream_status(arg, status);
    ((MPI_Status *)arg)->MPI_ERROR = mgds_mpi_class(status->error);
}

static struct mgds_op_sink sink_of(MPI_Status *status, bool in_array)
{
    struct mgds_op_sink sink = {.store = NULL};

    if (status == MPI_STATUS_IGNORE)
        return sink;
    sink.store = in_array ? store_in_array : store_status;
    sink.arg = status;
    return sink;
}

/* A blocking call: the operation and the stream's wait for it. */
static int run(const struct mgds_stream_call *call, MPI_Status *status)
{
    struct mgds_op_sink sink = sink_of(status, false);

    return mgds_stream_call_raise(call, mgds_stream_call_run(call, &sink));
}

static struct mgds_stream_call call_of(const struct mgds_mpix_args *args,
                                       bool receives)
{
    return (struct mgds_stream_call){.addr = args->buf,
                                     .count = args->count,
                                     .type = args->type,
                                     .peer = args->peer,
                                     .tag = args->tag,
                                     .receives = receives};
}

static int block(const struct mgds_mpix_args *args, bool receives)
{
    struct mgds_stream_call call = call_of(args, receives);
    int rc;

    call.fills = receives ? "status" : NULL;
    call.filled = args->status;
    rc = begin(&call, args->comm);
    if (rc == MPI_SUCCESS)
        rc = run(&call, receives ? args->status : MPI_STATUS_IGNORE);
    mgds_scomm_put(call.scomm);
    return rc;
}

static int start(const struct mgds_mpix_args *args, bool receives)
{
    struct mgds_stream_call call = call_of(args, receives);
    struct mgds_stream_pair pair = {.receive = receives ? &call : NULL,
                                    .send = receives ? NULL : &call};
    int rc;

    call.fills = "request";
    call.filled = args->request;
    rc = begin(&call, args->comm);
    if (rc == MPI_SUCCESS)
        rc = mgds_stream_req_start(args->request, &pair);
    mgds_scomm_put(call.scomm);
    return rc;
}

int mgds_mpix_Send_enqueue(const struct mgds_mpix_args *args)
{
    return block(args, false);
}

int mgds_mpix_Recv_enqueue(const struct mgds_mpix_args *args)
{
    return block(args, true);
}

int mgds_mpix_Isend_enqueue(const struct mgds_mpix_args *args)
{
    return start(args, false);
}

int mgds_mpix_Irecv_enqueue(const struct mgds_mpix_args *args)
{
    return start(args, true);
}

/*
 * Waits. Whatever may call an error handler comes first, for a handler may free
 * or complete the requests; then they are looked up, and the engine takes their
 * operations, all or none; then they go.
 */
enum { SMALL = 16 };

struct waiting {
    int count;
    MPI_Request *requests;
    MPI_Status *statuses; /* the caller's, or MPI_STATUS(ES)_IGNORE */
    bool in_array;
    unsigned ops;
    struct mgds_stream_req **req;
    struct mgds_op **op;
    struct mgds_op_sink *sink;
    int *at; /* in the array, growing */
    void *memory;
};

/* Room for a few, on the stack of the call. */
struct small {
    struct mgds_stream_req *req[SMALL];
    struct mgds_op *op[SMALL];
    struct mgds_op_sink sink[SMALL];
    int at[SMALL];
};

static int make_room(struct waiting *waiting, struct small *small)
{
    size_t n = (size_t)waiting->count;
    char *room;

    waiting->req = small->req;
    waiting->op = small->op;
    waiting->sink = small->sink;
    waiting->at = small->at;
    if (n <= SMALL)
        return 0;
    room = mgds_malloc(n * (sizeof(*waiting->sink) + sizeof(struct mgds_op *) +
                            sizeof(struct mgds_stream_req *) + sizeof(int)));
    if (!room)
        return -ENOMEM;
    waiting->memory = room;
    waiting->sink = (struct mgds_op_sink *)(void *)room;
    room += n * sizeof(*waiting->sink);
    waiting->op = (struct mgds_op **)(void *)room;
    room += n * sizeof(struct mgds_op *);
    waiting->req = (struct mgds_stream_req **)(void *)room;
    room += n * sizeof(struct mgds_stream_req *);
    waiting->at = (int *)(void *)room;
    return 0;
}

static MPI_Status *status_at(const struct waiting *waiting, int i)
{
    return waiting->statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE
                                                    : &waiting->statuses[i];
}

/* A persistent request stands for what it has started. */
static struct mgds_stream_req *req_at(const struct waiting *waiting, int i)
{
    const MPI_Request handle = waiting->requests[i];
    struct mgds_stream_req *req = mgds_stream_req_find(handle);
    const struct mgds_stream_persist *persist =
        req ? NULL : mgds_stream_persist_find(handle);

    return persist ? persist->current : req;
}

/* Of one where req_at finds nothing: a persistent request that is inactive has
 * nothing to wait for. */
static bool is_idle(const struct waiting *waiting, int i)
{
    return waiting->requests[i] == MPI_REQUEST_NULL ||
           mgds_stream_persist_find(waiting->requests[i]);
}

/* Of a request that one wait can take: one operation, once in the array. */
static bool claim(struct waiting *waiting, struct mgds_stream_req *req, int i)
{
    if (!req->op || req->other || req->taken)
        return false;
    req->taken = true;
    waiting->at[waiting->ops] = i;
    waiting->req[waiting->ops] = req;
    waiting->op[waiting->ops] = req->op;
    waiting->sink[waiting->ops] =
        sink_of(status_at(waiting, i), waiting->in_array);
    waiting->ops++;
    return true;
}

static void unclaim(const struct waiting *waiting)
{
    for (unsigned i = 0; i < waiting->ops; i++)
        waiting->req[i]->taken = false;
}

/* The number of the first that cannot be claimed, or -1. */
static int claim_all(struct waiting *waiting)
{
    for (int i = 0; i < waiting->count; i++) {
        struct mgds_stream_req *req = req_at(waiting, i);

        if (req ? !claim(waiting, req, i) : !is_idle(waiting, i))
            return i;
    }
    return -1;
}

static void take_back(const struct waiting *waiting, unsigned ops)
{
    for (unsigned i = 0; i < ops; i++)
        if (waiting->req[i]->place)
            mgds_stream_persist_take_back(&waiting->sink[i]);
}

/* Persistent requests are told when the stream has passed. 0 or -ENOMEM. */
static int hand_over(struct waiting *waiting)
{
    int rc = 0;

    for (unsigned i = 0; i < waiting->ops && rc == 0; i++) {
        if (waiting->req[i]->place)
            rc = mgds_stream_persist_hand_over(
                mgds_stream_persist_of(waiting->req[i]), &waiting->sink[i]);
        if (rc < 0)
            take_back(waiting, i);
    }
    return rc;
}

static int put(struct waiting *waiting, struct mgds_scomm *scomm)
{
    int rc;

    if (waiting->ops == 0)
        return 0;
    rc = hand_over(waiting);
    if (rc < 0)
        return rc;
    rc = mgds_op_wait_enqueue(mgds_scomm_gpu(scomm), waiting->ops, waiting->op,
                              waiting->sink);
    if (rc < 0)
        take_back(waiting, waiting->ops);
    return rc;
}

/* The operations are the stream's now. Persistent requests keep their handles.
 */
static void let_go(struct waiting *waiting)
{
    for (unsigned i = 0; i < waiting->ops; i++) {
        struct mgds_stream_req *req = waiting->req[i];

        if (!req->place)
            waiting->requests[waiting->at[i]] = MPI_REQUEST_NULL;
        req->op = NULL;
        mgds_stream_req_leave(req);
    }
}

/* Of those that were not claimed. */
static void fill_empty(const struct waiting *waiting)
{
    unsigned claimed = 0;

    for (int i = 0; i < waiting->count; i++) {
        MPI_Status *status = status_at(waiting, i);

        if (claimed < waiting->ops && waiting->at[claimed] == i) {
            claimed++;
            continue;
        }
        if (status == MPI_STATUS_IGNORE)
            continue;
        mgds_stream_status_empty(status);
        if (waiting->in_array)
            status->MPI_ERROR = MPI_SUCCESS;
    }
}

/* Its stream waits: that of the first request that is one of ours. With a
 * reference, or NULL. */
static struct mgds_scomm *first_scomm(const struct waiting *waiting)
{
    for (int i = 0; i < waiting->count; i++) {
        struct mgds_stream_req *req = req_at(waiting, i);

        if (!req)
            continue;
        mgds_scomm_get(req->scomm);
        return req->scomm;
    }
    return NULL;
}

#define NOT_TO_WAIT_FOR                                                        \
    ", which no call on a stream communicator has made, or a wait has had "    \
    "already"

static int check_stream(struct mgds_scomm *scomm)
{
    mgds_scomm_raise(scomm);
    return mgds_enqueue_check(scomm);
}

static int refuse_request(const struct waiting *waiting, int i)
{
    const unsigned handle = (unsigned)waiting->requests[i];

    if (waiting->in_array)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_REQUEST,
                               "requests[%d] is 0x%08x" NOT_TO_WAIT_FOR, i,
                               handle);
    return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_REQUEST,
                           "request is 0x%08x" NOT_TO_WAIT_FOR, handle);
}

static int refuse_group(const struct mgds_scomm *scomm)
{
    return mgds_mpi_refuse(mgds_scomm_teller(scomm), MPI_ERR_REQUEST,
                           "an operation of the same stream is in a group that "
                           "another thread has not ended "
                           "(MPIX_Stream_group_end): the stream would stand "
                           "ahead of it");
}

/* No handler from here until nothing is claimed. */
static int wait_for_all(struct waiting *waiting, struct mgds_scomm *scomm)
{
    int refused = claim_all(waiting), rc;

    if (refused >= 0) {
        unclaim(waiting);
        return refuse_request(waiting, refused);
    }
    rc = put(waiting, scomm);
    if (rc < 0) {
        unclaim(waiting);
        return rc == -EBUSY ? refuse_group(scomm)
                            : mgds_mpi_error(mgds_scomm_teller(scomm), rc);
    }
    fill_empty(waiting);
    let_go(waiting);
    return MPI_SUCCESS;
}

/* A copy of its own, since that refers to room on its stack. */
static int wait_for(struct waiting waiting)
{
    struct mgds_scomm *scomm;
    struct small small;
    int rc = make_room(&waiting, &small);

    if (rc < 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_NO_MEM,
                               "no memory for %d requests", waiting.count);
    scomm = first_scomm(&waiting);
    rc = scomm ? check_stream(scomm) : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        rc = wait_for_all(&waiting, scomm);
    mgds_scomm_put(scomm);
    free(waiting.memory);
    return rc;
}

int mgds_mpix_Wait_enqueue(MPI_Request *request, MPI_Status *status)
{
    struct waiting waiting = {
        .count = 1, .requests = request, .statuses = status};

    if (!request || !status)
        return mgds_mpi_refuse_null(MPI_COMM_NULL,
                                    request ? "status" : "request");
    return wait_for(waiting);
}

int mgds_mpix_Waitall_enqueue(int count, MPI_Request requests[],
                              MPI_Status *statuses)
{
    struct waiting waiting = {.count = count,
                              .requests = requests,
                              .statuses = statuses,
                              .in_array = true};

    if (count < 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_COUNT,
                               "count is %d, must be 0 or more", count);
    if (count == 0)
        return MPI_SUCCESS;
    if (!requests || !statuses)
        return mgds_mpi_refuse_null(MPI_COMM_NULL,
                                    requests ? "statuses" : "requests");
    return wait_for(waiting);
}

int mgds_mpix_Allreduce_enqueue(MPI_Comm comm)
{
    struct mgds_scomm *scomm = mgds_scomm_of((mgds_word)comm);

    if (!scomm)
        return refuse_comm(comm);
    mgds_scomm_put(scomm);
    return mgds_mpi_refuse(comm, MPI_ERR_UNSUPPORTED_OPERATION,
                           "it is not there in this version: synchronise the "
                           "stream and call MPI_Allreduce");
}
