/* The receiver of gpu/direct.c. */
#include "tests/mpi/gpu/direct_message.h"

static int source_of(const struct direct_end *end)
{
    return end->plan->any_source ? MPI_ANY_SOURCE : end->peer;
}

static int tag_of(const struct direct_end *end)
{
    return end->plan->any_tag ? MPI_ANY_TAG : end->plan->tag;
}

void direct_recv_make(struct direct_end *end)
{
    const struct plan *plan = end->plan;

    direct_buffer_make(&end->buffer, plan->in_kind, plan->in_device,
                       plan->in_shape, plan->posted);
}

void direct_recv_clear(struct direct_end *end)
{
    direct_buffer_clear(&end->buffer);
}

static int init(struct direct_end *end)
{
    struct direct_buffer *in = &end->buffer;
    int parts = direct_partitions(in);

    if (end->plan->recv == RECV_INIT)
        return MPI_Recv_init(in->memory.at, in->count, in->type, source_of(end),
                             tag_of(end), end->comm, &end->request[0]);
    return MPI_Precv_init(in->memory.at, parts, in->count / parts, in->type,
                          source_of(end), tag_of(end), end->comm, MPI_INFO_NULL,
                          &end->request[0]);
}

void direct_recv_post(struct direct_end *end)
{
    struct direct_buffer *in = &end->buffer;
    int rc = MPI_SUCCESS;

    if (end->plan->recv == IRECV) {
        rc = MPI_Irecv(in->memory.at, in->count, in->type, source_of(end),
                       tag_of(end), end->comm, &end->request[0]);
    } else {
        if (end->request[0] == MPI_REQUEST_NULL)
            rc = init(end);
        if (rc == MPI_SUCCESS)
            rc = MPI_Start(&end->request[0]);
    }
    CHECK(rc == MPI_SUCCESS);
}

static void look(const struct direct_end *end, const MPI_Status *found)
{
    MPI_Status status = *found;

    CHECK(status.MPI_SOURCE == end->peer);
    CHECK(status.MPI_TAG == end->plan->tag);
    CHECK(gpu_bytes(&status) == (int)end->plan->sent);
}

/* The message of a matched probe. */
static MPI_Message probe(const struct direct_end *end)
{
    int source = source_of(end), tag = tag_of(end), flag = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;

    switch (end->plan->probe) {
    case NO_PROBE:
        return message;
    case PROBE:
        MPI_Probe(source, tag, end->comm, &status);
        break;
    case IPROBE:
        while (!flag)
            MPI_Iprobe(source, tag, end->comm, &flag, &status);
        break;
    case MPROBE:
        MPI_Mprobe(source, tag, end->comm, &message, &status);
        break;
    default:
        while (!flag)
            MPI_Improbe(source, tag, end->comm, &flag, &message, &status);
    }
    look(end, &status);
    return message;
}

static int receive_matched(struct direct_end *end, MPI_Message message)
{
    struct direct_buffer *in = &end->buffer;
    int rc;

    rc = end->plan->recv == MRECV
             ? MPI_Mrecv(in->memory.at, in->count, in->type, &message,
                         &end->status)
             : MPI_Imrecv(in->memory.at, in->count, in->type, &message,
                          &end->request[0]);
    CHECK(message == MPI_MESSAGE_NULL || rc != MPI_SUCCESS);
    return rc;
}

static int receive(struct direct_end *end, MPI_Message message)
{
    struct direct_buffer *in = &end->buffer;
    void *at = in->memory.at;
    MPI_Datatype type = in->type;
    int count = in->count, source = source_of(end), tag = tag_of(end);

    switch (end->plan->recv) {
    case RECV:
        return MPI_Recv(at, count, type, source, tag, end->comm, &end->status);
    case SENDRECV_FROM:
        return MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, at, count,
                            type, source, tag, end->comm, &end->status);
    case REPLACE_FROM:
        return MPI_Sendrecv_replace(at, count, type, MPI_PROC_NULL, 0, source,
                                    tag, end->comm, &end->status);
    case ISENDRECV_FROM:
        return MPI_Isendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, at, count,
                             type, source, tag, end->comm, &end->request[0]);
    case IREPLACE_FROM:
        return MPI_Isendrecv_replace(at, count, type, MPI_PROC_NULL, 0, source,
                                     tag, end->comm, &end->request[0]);
    default:
        return receive_matched(end, message);
    }
}

void direct_recv_start(struct direct_end *end)
{
    MPI_Message message = probe(end);

    if (plan_is_immediate(end->plan->recv))
        direct_recv_post(end);
    else
        end->rc = receive(end, message);
}

void direct_recv_complete(struct direct_end *end)
{
    if (end->request[0] != MPI_REQUEST_NULL)
        end->rc = direct_complete(end, end->plan->received_by);
}

void direct_recv_check(struct direct_end *end)
{
    const struct plan *plan = end->plan;

    if (plan->sent <= plan->posted) {
        CHECK(end->rc == MPI_SUCCESS);
        look(end, &end->status);
        if (end->asked)
            look(end, &end->early);
        direct_buffer_see(&end->buffer, plan->sent, end->seed);
    } else {
        CHECK(gpu_class(end->rc) == MPI_ERR_TRUNCATE);
        direct_buffer_see_around(&end->buffer, plan->posted);
    }
}

void direct_exchange(struct direct_end *out, struct direct_end *in)
{
    const struct direct_buffer *from = &out->buffer;
    struct direct_buffer *into = &in->buffer;

    if (in->plan->recv == SENDRECV_FROM) {
        in->rc = MPI_Sendrecv(from->memory.at, from->count, from->type,
                              out->peer, out->plan->tag, into->memory.at,
                              into->count, into->type, source_of(in),
                              tag_of(in), in->comm, &in->status);
        return;
    }
    in->rc =
        MPI_Isendrecv(from->memory.at, from->count, from->type, out->peer,
                      out->plan->tag, into->memory.at, into->count, into->type,
                      source_of(in), tag_of(in), in->comm, &in->request[0]);
    if (in->rc == MPI_SUCCESS)
        in->rc = direct_complete(in, in->plan->received_by);
}
