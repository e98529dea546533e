/* Sends and receives on stream communicators. */
#include "shim/pmpi/stream_call.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/mem/layout.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/types.h"
#include "shim/pmpi/watched.h"

/* MPICH's numbers for nobody, anybody and any tag are the engine's. */
enum { NOBODY = MPI_PROC_NULL, ANYBODY = MPI_ANY_SOURCE, ANY = MPI_ANY_TAG };
static_assert(NOBODY == MGDS_PROC_NULL, "peers go down as they are");
static_assert(ANYBODY == MGDS_ANY_SOURCE, "peers go down as they are");
static_assert(ANY == MGDS_ANY_TAG, "tags go down as they are");

/* Each of the following says what is wrong of one argument, if something is:
 * MPI_SUCCESS, or the code that the error handler was told. */

static int check_rank(const struct mgds_stream_call *call)
{
    int peers = mgds_scomm_peers(call->scomm);

    if (call->peer == MPI_PROC_NULL ||
        (call->receives && call->peer == MPI_ANY_SOURCE) ||
        (call->peer >= 0 && call->peer < peers))
        return MPI_SUCCESS;
    return mgds_mpi_refuse(mgds_scomm_teller(call->scomm), MPI_ERR_RANK,
                           "rank is %d, must be 0 to %d", call->peer,
                           peers - 1);
}

static int check_tag(const struct mgds_stream_call *call)
{
    int most = mgds_scomm_tag_ub(call->scomm);

    if ((call->receives && call->tag == MPI_ANY_TAG) ||
        (call->tag >= 0 && call->tag <= most))
        return MPI_SUCCESS;
    return mgds_mpi_refuse(mgds_scomm_teller(call->scomm), MPI_ERR_TAG,
                           "tag is %d, must be 0 to %d", call->tag, most);
}

/* What a peer has is not known before it is known who sends. */
static unsigned streams_of_peer(const struct mgds_stream_call *call)
{
    return call->peer < 0 ? INT_MAX
                          : mgds_scomm_peer_streams(call->scomm, call->peer);
}

static int check_index(const struct mgds_stream_call *call, bool of_source,
                       int index, unsigned streams)
{
    if (index >= 0 && (unsigned)index < streams)
        return MPI_SUCCESS;
    return mgds_mpi_refuse(mgds_scomm_teller(call->scomm), MPI_ERR_ARG,
                           "%s_stream_index is %d, must be 0 to %u",
                           of_source ? "source" : "dest", index, streams - 1);
}

/* Where from or where to. */
static int check_address(const struct mgds_stream_call *call)
{
    int rc = MPI_SUCCESS;

    if (call->message)
        return MPI_SUCCESS;
    rc = check_rank(call);
    if (rc == MPI_SUCCESS)
        rc = check_tag(call);
    if (rc == MPI_SUCCESS)
        rc = check_index(call, !call->receives, call->index,
                         call->scomm->stream_count);
    if (rc == MPI_SUCCESS)
        rc = check_index(call, call->receives, call->peer_index,
                         streams_of_peer(call));
    return rc;
}

static int check_type(const struct mgds_stream_call *call)
{
    MPI_Comm comm = mgds_scomm_teller(call->scomm);

    if (mgds_type_is_basic(call->type) || mgds_type_committed(call->type))
        return MPI_SUCCESS;
    if (call->type == MPI_DATATYPE_NULL)
        return mgds_mpi_refuse(comm, MPI_ERR_TYPE,
                               "datatype is MPI_DATATYPE_NULL");
    return mgds_mpi_refuse(comm, MPI_ERR_TYPE,
                           "datatype is 0x%08x, which is none, or was not "
                           "committed (MPI_Type_commit)",
                           (unsigned)call->type);
}

/* NULL is an address only for datatypes of absolute ones. */
static int check_buffer(const struct mgds_stream_call *call)
{
    struct mgds_layout *layout;
    bool legal = true;

    if (call->addr || call->peer == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (mgds_type_layout(&layout, call->type) == 0) {
        legal = layout->size == 0 || layout->true_lb != 0;
        mgds_layout_put(layout);
    }
    if (legal)
        return MPI_SUCCESS;
    return mgds_mpi_refuse(mgds_scomm_teller(call->scomm), MPI_ERR_BUFFER,
                           "buf is NULL, and count is %lld",
                           (long long)call->count);
}

static int check_elements(const struct mgds_stream_call *call)
{
    int rc;

    if (call->count < 0)
        return mgds_mpi_refuse(mgds_scomm_teller(call->scomm), MPI_ERR_COUNT,
                               "count is %lld, must be 0 or more",
                               (long long)call->count);
    if (call->count == 0)
        return MPI_SUCCESS;
    rc = check_type(call);
    return rc == MPI_SUCCESS ? check_buffer(call) : rc;
}

int mgds_stream_call_check(const struct mgds_stream_call *call)
{
    int rc = check_elements(call);

    if (rc == MPI_SUCCESS)
        rc = check_address(call);
    if (rc == MPI_SUCCESS && call->fills && !call->filled)
        rc = mgds_mpi_refuse_null(mgds_scomm_teller(call->scomm), call->fills);
    return rc;
}

/* It would take a transport that MPIX_GDS_REQUIRE leaves out. */
static int raise_refusal(const struct mgds_stream_call *call)
{
    const struct mgds_way refusal = mgds_require_reason();
    const char *way = call->receives ? "from" : "to";
    MPI_Comm comm = mgds_scomm_teller(call->scomm);
    MPI_Count size = 0;
    long long bytes;

    mgds_below()->Type_size_x(call->type, &size);
    bytes = (long long)size * (long long)call->count;
    if (call->peer < 0)
        return mgds_mpi_refuse(comm, MPI_ERR_UNSUPPORTED_OPERATION,
                               "%lld bytes %s any rank would take %s, which "
                               "MPIX_GDS_REQUIRE leaves out: %s",
                               bytes, way, refusal.transport,
                               refusal.hindrance.why);
    return mgds_mpi_refuse(comm, MPI_ERR_UNSUPPORTED_OPERATION,
                           "%lld bytes %s rank %d would take %s, which "
                           "MPIX_GDS_REQUIRE leaves out: %s",
                           bytes, way, call->peer, refusal.transport,
                           refusal.hindrance.why);
}

int mgds_stream_call_raise(const struct mgds_stream_call *call, int rc)
{
    if (rc >= 0)
        return MPI_SUCCESS;
    if (rc == -EPROTONOSUPPORT)
        return raise_refusal(call);
    return mgds_mpi_error(mgds_scomm_teller(call->scomm), rc);
}

/* What is not touched may be of no datatype. */
static int find_buffer(struct mgds_xfer *xfer,
                       const struct mgds_stream_call *call)
{
    bool touched = call->peer != MPI_PROC_NULL && call->count > 0;
    int rc =
        mgds_buffer_find(&xfer->buffer, call->addr, touched ? call->count : 0,
                         touched ? call->type : MPI_BYTE);

    xfer->gpu = rc == 1;
    return rc < 0 ? rc : 0;
}

static void fill(struct mgds_xfer *xfer, const struct mgds_stream_call *call)
{
    bool receives = call->receives;

    xfer->peer = call->peer;
    xfer->tag = call->tag;
    xfer->from_index = (unsigned)(receives ? call->peer_index : call->index);
    xfer->to_index = (unsigned)(receives ? call->index : call->peer_index);
    xfer->sync = call->sync;
    xfer->enqueued = call->enqueued;
    xfer->idle = mgds_below_progress;
}

int mgds_stream_call_prepare(struct mgds_xfer *xfer,
                             const struct mgds_stream_call *call)
{
    int rc;

    *xfer = (struct mgds_xfer){.name = 0};
    rc = find_buffer(xfer, call);
    if (rc == 0)
        fill(xfer, call);
    return rc;
}

int mgds_stream_call_start(struct mgds_op **out,
                           const struct mgds_stream_call *call, uint64_t name)
{
    struct mgds_comm *domain = call->scomm->domain;
    struct mgds_xfer xfer;
    int rc = mgds_stream_call_prepare(&xfer, call);

    if (rc < 0)
        return rc;
    xfer.name = name;
    if (call->message)
        rc = mgds_op_mrecv(out, call->message, &xfer);
    else if (call->receives)
        rc = mgds_op_recv(out, domain, &xfer);
    else
        rc = mgds_op_send(out, domain, &xfer);
    mgds_buffer_put(&xfer.buffer);
    return rc;
}

int mgds_stream_call_run(const struct mgds_stream_call *call,
                         const struct mgds_op_sink *sink)
{
    struct mgds_xfer xfer;
    int rc = mgds_stream_call_prepare(&xfer, call);

    if (rc < 0)
        return rc;
    rc = mgds_op_run(call->scomm->domain, &xfer, !call->receives, sink);
    mgds_buffer_put(&xfer.buffer);
    return rc;
}

/* The communicator of a message that was probed may be freed. */
static void progress(const struct mgds_scomm *scomm)
{
    if (mgds_scomm_teller(scomm) == scomm->handle)
        mgds_below_progress_on(scomm->handle);
    else
        mgds_below_progress();
}

/* The operation is over, with an error. */
static int raise_error(const struct mgds_stream_call *call, struct mgds_op *op)
{
    struct mgds_failure failure;

    mgds_op_failure(op, &failure);
    mgds_op_put(op);
    return mgds_mpi_raise_own_failure(mgds_scomm_teller(call->scomm), &failure);
}

int mgds_stream_call_wait(const struct mgds_stream_call *call,
                          struct mgds_op *op, MPI_Status *status)
{
    enum { SPINS = 64 };
    struct mgds_op_status end;
    int rc;

    mgds_groups_flush();
    mgds_watched_begin(call->receives ? "MPIX_Stream_recv"
                                      : "MPIX_Stream_send");
    for (unsigned n = 0; (rc = mgds_op_test(op)) == 0; n++) {
        progress(call->scomm);
        if (n > SPINS)
            sched_yield();
    }
    mgds_watched_end();
    if (rc == 1) {
        mgds_op_status(op, &end);
        if (status != MPI_STATUS_IGNORE)
            mgds_stream_status(status, &end);
        if (end.error < 0)
            return raise_error(call, op);
    }
    mgds_op_put(op);
    return mgds_mpi_error(mgds_scomm_teller(call->scomm), rc);
}

/* MPICH's layout of a count: the low word, then the high one above the bit of
 * cancellation. MPI_Status_set_elements may be called by no progress thread. */
void mgds_stream_status(MPI_Status *out, const struct mgds_op_status *status)
{
    uint64_t bytes = status->bytes;

    out->count_lo = (int)(uint32_t)bytes;
    out->count_hi_and_cancelled =
        (int)((uint32_t)(bytes >> 32) << 1 | status->cancelled);
    out->MPI_SOURCE = status->source;
    out->MPI_TAG = status->tag;
}

void mgds_stream_status_empty(MPI_Status *out)
{
    static const struct mgds_op_status nothing = {.source = MGDS_ANY_SOURCE,
                                                  .tag = MGDS_ANY_TAG};

    mgds_stream_status(out, &nothing);
}

/* Packing host memory. */

struct pack {
    const char *from;
    char *to;
};

static int pack_span(void *arg, const struct mgds_span *span, size_t packed)
{
    struct pack *pack = arg;
    const char *from = pack->from + span->offset;
    char *to = pack->to + packed;

    for (size_t plane = 0; plane < span->planes; plane++)
        for (size_t row = 0; row < span->rows; row++) {
            memcpy(to,
                   from + (ptrdiff_t)plane * span->slice +
                       (ptrdiff_t)row * span->pitch,
                   span->width);
            to += span->width;
        }
    return 0;
}

static int pack_host(struct mgds_packed *packed, struct mgds_stream_call *call)
{
    struct mgds_layout *one, *all;
    struct pack pack = {call->addr, NULL};
    int rc = mgds_type_layout(&one, call->type);

    if (rc < 0)
        return rc;
    rc = mgds_layout_repeat(&all, one, (size_t)call->count);
    mgds_layout_put(one);
    if (rc < 0)
        return rc;
    packed->memory = mgds_malloc(all->size + 1);
    if (packed->memory) {
        pack.to = packed->memory;
        rc = mgds_layout_walk(all, 0, SIZE_MAX, pack_span, &pack);
        call->addr = packed->memory;
        call->count = (MPI_Count)all->size;
        call->type = MPI_BYTE;
    } else {
        rc = -ENOMEM;
    }
    mgds_layout_put(all);
    return rc;
}

int mgds_packed_init(struct mgds_packed *packed, struct mgds_stream_call *call)
{
    int rc = 0;

    *packed = (struct mgds_packed){
        .side = mgds_side_passing(call->addr, call->count, call->type)};
    if (call->peer == MPI_PROC_NULL || call->count == 0)
        return 0;
    rc = mgds_side_init(&packed->side, call->addr, call->count, call->type,
                        MGDS_SIDE_SEND);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return pack_host(packed, call);
    rc = mgds_side_down(&packed->side);
    if (rc < 0) {
        mgds_side_fini(&packed->side);
        return rc;
    }
    call->addr = packed->side.addr;
    call->count = packed->side.count;
    call->type = packed->side.type;
    return 0;
}

void mgds_packed_fini(struct mgds_packed *packed)
{
    mgds_side_fini(&packed->side);
    free(packed->memory);
}
