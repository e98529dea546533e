/* Which transport the messages of a request take. */
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/own_handle.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"

static const struct mgds_way staged = {
    "host", {"GPU buffers of ordinary calls are staged in host memory", ""}};
static const struct mgds_way below = {
    "mpi", {"it is left to the MPI library below", ""}};
static const struct mgds_way nothing = {"none", {"", ""}};

static struct mgds_way way_of(MPI_Request request)
{
    const struct mgds_stream_persist *persist =
        mgds_stream_persist_find(request);
    const struct mgds_stream_req *req =
        persist ? persist->current : mgds_stream_req_find(request);
    struct mgds_op *op;

    if (persist && !req)
        return nothing;
    if (!req)
        return mgds_own_handle_is(request) || !mgds_requests_look(request).kind
                   ? below
                   : staged;
    op = req->op ? req->op : req->other; /* a buffered send has other alone */
    return op ? mgds_op_way(op) : nothing;
}

static void set(const char **out, const char *text)
{
    if (out)
        *out = text;
}

int mgds_mpix_Request_get_transport(MPI_Request request, const char **transport,
                                    const char **reason, const char **remedy)
{
    struct mgds_way way;

    if (!transport)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "transport");
    if (request == MPI_REQUEST_NULL)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_REQUEST,
                               "request is MPI_REQUEST_NULL");
    way = way_of(request);
    *transport = way.transport;
    set(reason, way.hindrance.why);
    set(remedy, way.hindrance.remedy);
    return MPI_SUCCESS;
}
