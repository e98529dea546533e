/* The sender of gpu/direct.c. */
#include "tests/mpi/gpu/direct_message.h"

void direct_send_make(struct direct_end *end)
{
    const struct plan *plan = end->plan;

    direct_buffer_make(&end->buffer, plan->out_kind, plan->out_device,
                       plan->out_shape, plan->sent);
}

void direct_send_fill(struct direct_end *end)
{
    direct_buffer_fill(&end->buffer, end->seed);
}

int direct_partitions(const struct direct_buffer *buffer)
{
    return buffer->count % 4 ? 1 : 4;
}

static int send_parts(struct direct_end *end)
{
    const struct direct_buffer *out = &end->buffer;
    int parts = direct_partitions(out), rc = MPI_SUCCESS;

    if (end->request[0] == MPI_REQUEST_NULL)
        rc = MPI_Psend_init(out->memory.at, parts, out->count / parts,
                            out->type, end->peer, end->plan->tag, end->comm,
                            MPI_INFO_NULL, &end->request[0]);
    if (rc == MPI_SUCCESS)
        rc = MPI_Start(&end->request[0]);
    for (int i = parts; i > 0 && rc == MPI_SUCCESS; i--)
        rc = MPI_Pready(i - 1, end->request[0]);
    return rc;
}

typedef int persistent(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                       MPI_Request *);

static int send_persistent(struct direct_end *end, persistent *init)
{
    const struct direct_buffer *out = &end->buffer;
    int rc = MPI_SUCCESS;

    if (end->request[0] == MPI_REQUEST_NULL)
        rc = init(out->memory.at, out->count, out->type, end->peer,
                  end->plan->tag, end->comm, &end->request[0]);
    return rc == MPI_SUCCESS ? MPI_Start(&end->request[0]) : rc;
}

static int send_with_request(struct direct_end *end)
{
    const struct direct_buffer *out = &end->buffer;
    void *at = out->memory.at;
    MPI_Request *request = &end->request[0];
    MPI_Datatype type = out->type;
    MPI_Comm comm = end->comm;
    int count = out->count, to = end->peer, tag = end->plan->tag;

    switch (end->plan->send) {
    case ISEND:
        return MPI_Isend(at, count, type, to, tag, comm, request);
    case ISSEND:
        return MPI_Issend(at, count, type, to, tag, comm, request);
    case IRSEND:
        return MPI_Irsend(at, count, type, to, tag, comm, request);
    case IBSEND:
        return MPI_Ibsend(at, count, type, to, tag, comm, request);
    case ISENDRECV_TO:
        return MPI_Isendrecv(at, count, type, to, tag, NULL, 0, MPI_BYTE,
                             MPI_PROC_NULL, 0, comm, request);
    case IREPLACE_TO:
        return MPI_Isendrecv_replace(at, count, type, to, tag, MPI_PROC_NULL, 0,
                                     comm, request);
    case SEND_INIT:
        return send_persistent(end, MPI_Send_init);
    case SSEND_INIT:
        return send_persistent(end, MPI_Ssend_init);
    case RSEND_INIT:
        return send_persistent(end, MPI_Rsend_init);
    case BSEND_INIT:
        return send_persistent(end, MPI_Bsend_init);
    default:
        return send_parts(end);
    }
}

static int send_whole(struct direct_end *end)
{
    const struct direct_buffer *out = &end->buffer;
    void *at = out->memory.at;
    MPI_Datatype type = out->type;
    MPI_Comm comm = end->comm;
    int count = out->count, to = end->peer, tag = end->plan->tag;

    switch (end->plan->send) {
    case SEND:
        return MPI_Send(at, count, type, to, tag, comm);
    case SSEND:
        return MPI_Ssend(at, count, type, to, tag, comm);
    case RSEND:
        return MPI_Rsend(at, count, type, to, tag, comm);
    case BSEND:
        return MPI_Bsend(at, count, type, to, tag, comm);
    case SENDRECV_TO:
        return MPI_Sendrecv(at, count, type, to, tag, NULL, 0, MPI_BYTE,
                            MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
    default:
        return MPI_Sendrecv_replace(at, count, type, to, tag, MPI_PROC_NULL, 0,
                                    comm, MPI_STATUS_IGNORE);
    }
}

void direct_send_start(struct direct_end *end)
{
    end->rc = plan_has_request(end->plan->send) ? send_with_request(end)
                                                : send_whole(end);
    CHECK(end->rc == MPI_SUCCESS);
}

void direct_send_complete(struct direct_end *end)
{
    if (plan_has_request(end->plan->send))
        end->rc = direct_complete(end, end->plan->sent_by);
}

void direct_send_check(struct direct_end *end)
{
    CHECK(end->rc == MPI_SUCCESS);
    direct_buffer_see(&end->buffer, end->plan->sent, end->seed);
}
