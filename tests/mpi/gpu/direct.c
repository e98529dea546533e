/*
 * Messages that go by header (MPIX_GDS_DIRECT), among others that do not: every
 * way to send, to find and to receive one, into every kind of memory, more and
 * less than was sent. All ranks draw the same plans from one seed, so a row of
 * this program is a covering array: `direct SEED LAPS`.
 */
#include <string.h>

#include "tests/mpi/gpu/direct_plan.h"

enum { GUARD = 64, SHIFT = 24 };

static MPI_Comm comms[3];
static MPI_Datatype gaps;
static char attached[MOST * (LONGEST + 1000)];

/* A buffer of a plan, and what its data bytes are to MPI. */
struct buffer {
    struct mgds_test_memory memory;
    char *host; /* what is in it, as the CPU sees it */
    size_t bytes, data;
    enum shape shape;
    MPI_Datatype type;
    int count;
};

static size_t place_of(const struct buffer *buffer, size_t i)
{
    if (buffer->shape == SHIFTED)
        return i + SHIFT;
    return buffer->shape == GAPS ? i / 4 * 8 + i % 4 : i;
}

static void make_type(struct buffer *buffer)
{
    static const MPI_Datatype types[] = {[BYTES] = MPI_BYTE, [INTS] = MPI_INT};
    int length = (int)buffer->data;

    if (buffer->shape == SHIFTED) {
        MPI_Type_create_hindexed(1, &length, &(MPI_Aint){SHIFT}, MPI_BYTE,
                                 &buffer->type);
        MPI_Type_commit(&buffer->type);
        buffer->count = 1;
        return;
    }
    buffer->type = buffer->shape == GAPS ? gaps : types[buffer->shape];
    buffer->count = buffer->shape == BYTES ? length : length / 4;
}

/* What is allocated next is on this device, if it is there. */
static void use(int device)
{
    char why[256];

    CHECK(mgds_test_gpu_open(device, why) >= 0);
}

static void make(struct buffer *buffer, enum mgds_test_kind kind,
                 enum shape shape, size_t data)
{
    buffer->shape = shape;
    buffer->data = data;
    buffer->bytes = (shape == GAPS ? 2 * data : data) + SHIFT + GUARD;
    make_type(buffer);
    buffer->host = malloc(buffer->bytes);
    CHECK(buffer->host);
    memset(buffer->host, 0xee, buffer->bytes);
    CHECK(mgds_test_memory_alloc(&buffer->memory, kind, buffer->bytes) == 0);
}

static void put(struct buffer *buffer)
{
    mgds_test_memory_write(&buffer->memory, buffer->host, buffer->bytes);
}

static void fill(struct buffer *buffer, int seed)
{
    for (size_t i = 0; i < buffer->data; i++)
        buffer->host[place_of(buffer, i)] = (char)(seed + (int)i * 7);
    put(buffer);
}

/* So many bytes are data of this seed, and all else is as it was. */
static void see(const struct buffer *buffer, size_t data, int seed)
{
    char *found = malloc(buffer->bytes);

    CHECK(found);
    for (size_t i = 0; i < data; i++)
        buffer->host[place_of(buffer, i)] = (char)(seed + (int)i * 7);
    mgds_test_memory_read(&buffer->memory, found, buffer->bytes);
    for (size_t i = 0; i < buffer->bytes; i++)
        if (found[i] != buffer->host[i])
            fprintf(stderr, "byte %zu of %zu: 0x%02x, should be 0x%02x\n", i,
                    data, found[i] & 255, buffer->host[i] & 255);
    CHECK(!memcmp(found, buffer->host, buffer->bytes));
    free(found);
}

static void delete (struct buffer *buffer)
{
    if (buffer->shape == SHIFTED)
        MPI_Type_free(&buffer->type);
    mgds_test_memory_free(&buffer->memory);
    free(buffer->host);
}

/* The sender. */

static void send_one(const struct plan *plan, const struct buffer *out, int to,
                     MPI_Comm comm, MPI_Request *request)
{
    const void *at = out->memory.at;
    MPI_Datatype type = out->type;
    int count = out->count, tag = plan->tag;

    switch (plan->send) {
    case SEND:
        /* blocks until its receive: those of a batch are completed in order */
        MPI_Send(at, count, type, to, tag, comm);
        break;
    case SSEND:
        MPI_Ssend(at, count, type, to, tag, comm);
        break;
    case RSEND:
        MPI_Rsend(at, count, type, to, tag, comm);
        break;
    case BSEND:
        MPI_Bsend(at, count, type, to, tag, comm);
        break;
    case ISEND:
        MPI_Isend(at, count, type, to, tag, comm, request);
        break;
    case ISSEND:
        MPI_Issend(at, count, type, to, tag, comm, request);
        break;
    case SEND_INIT:
        MPI_Send_init(at, count, type, to, tag, comm, request);
        MPI_Start(request);
        break;
    default:
        MPI_Sendrecv(at, count, type, to, tag, NULL, 0, MPI_BYTE, MPI_PROC_NULL,
                     0, comm, MPI_STATUS_IGNORE);
    }
}

static void send_all(const struct batch *batch)
{
    MPI_Request requests[MOST];
    struct buffer out[MOST];

    for (int i = 0; i < batch->count; i++) {
        const struct plan *plan = &batch->plan[i];

        requests[i] = MPI_REQUEST_NULL;
        use(plan->out_device);
        make(&out[i], plan->out_kind, plan->out_shape, plan->sent);
        fill(&out[i], plan->seed);
        send_one(plan, &out[i], batch->to, comms[batch->comm], &requests[i]);
    }
    MPI_Waitall(batch->count, requests, gpu_ignored());
    for (int i = 0; i < batch->count; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
        delete (&out[i]);
    }
}

/* The receiver. */

struct receive {
    const struct plan *plan;
    MPI_Comm comm;
    int from;
    struct buffer in;
    MPI_Request request[2]; /* the second is never one */
    MPI_Status status;
    int rc;
};

static int source_of(const struct receive *receive)
{
    return receive->plan->any_source ? MPI_ANY_SOURCE : receive->from;
}

static int tag_of(const struct receive *receive)
{
    return receive->plan->any_tag ? MPI_ANY_TAG : receive->plan->tag;
}

static void post(struct receive *receive)
{
    const struct plan *plan = receive->plan;
    struct buffer *in = &receive->in;

    if (plan->recv == RECV_INIT) {
        MPI_Recv_init(in->memory.at, in->count, in->type, source_of(receive),
                      tag_of(receive), receive->comm, &receive->request[0]);
        receive->rc = MPI_Start(&receive->request[0]);
    } else {
        receive->rc =
            MPI_Irecv(in->memory.at, in->count, in->type, source_of(receive),
                      tag_of(receive), receive->comm, &receive->request[0]);
    }
    CHECK(receive->rc == MPI_SUCCESS);
}

static void look(const struct receive *receive)
{
    const struct plan *plan = receive->plan;
    MPI_Status status = receive->status;
    int flag = 0;

    if (plan->probe == NO_PROBE)
        return;
    if (plan->probe == PROBE)
        MPI_Probe(source_of(receive), tag_of(receive), receive->comm, &status);
    while (plan->probe == IPROBE && !flag)
        MPI_Iprobe(source_of(receive), tag_of(receive), receive->comm, &flag,
                   &status);
    CHECK(status.MPI_SOURCE == receive->from && status.MPI_TAG == plan->tag);
    CHECK(gpu_bytes(&status) == (int)plan->sent);
}

/* MPI_ERR_IN_STATUS says more in the status. */
static int plain(int rc, const MPI_Status *status)
{
    return gpu_class(rc) == MPI_ERR_IN_STATUS ? status->MPI_ERROR : rc;
}

static int until_some(struct receive *receive)
{
    int waits = receive->plan->recv == IRECV_WAITSOME;
    int indices[2], count = 0, rc = MPI_SUCCESS;
    MPI_Status statuses[2];

    while (count == 0 && rc == MPI_SUCCESS)
        rc = waits
                 ? MPI_Waitsome(2, receive->request, &count, indices, statuses)
                 : MPI_Testsome(2, receive->request, &count, indices, statuses);
    receive->status = statuses[0];
    return plain(rc, &statuses[0]);
}

static int until_all(struct receive *receive)
{
    int waits = receive->plan->recv == IRECV_WAITALL;
    int flag = 0, rc = MPI_SUCCESS;
    MPI_Status statuses[2];

    if (waits)
        rc = MPI_Waitall(2, receive->request, statuses);
    while (!waits && !flag && rc == MPI_SUCCESS)
        rc = MPI_Testall(2, receive->request, &flag, statuses);
    receive->status = statuses[0];
    return plain(rc, &statuses[0]);
}

static int until_status(struct receive *receive)
{
    MPI_Status early;
    int flag = 0, rc = MPI_SUCCESS;

    while (!flag && rc == MPI_SUCCESS)
        rc = MPI_Request_get_status(receive->request[0], &flag, &early);
    if (rc == MPI_SUCCESS)
        rc = MPI_Wait(&receive->request[0], &receive->status);
    else
        MPI_Wait(&receive->request[0], &receive->status);
    CHECK(!flag || gpu_bytes(&early) == gpu_bytes(&receive->status));
    return rc;
}

static int until_flag(struct receive *receive)
{
    int any = receive->plan->recv == IRECV_TESTANY;
    int flag = 0, index, rc = MPI_SUCCESS;

    while (!flag && rc == MPI_SUCCESS)
        rc = any ? MPI_Testany(2, receive->request, &index, &flag,
                               &receive->status)
                 : MPI_Test(&receive->request[0], &flag, &receive->status);
    return rc;
}

static int complete(struct receive *receive)
{
    int index;

    switch (receive->plan->recv) {
    case IRECV_TEST:
    case IRECV_TESTANY:
        return until_flag(receive);
    case IRECV_WAITANY:
        return MPI_Waitany(2, receive->request, &index, &receive->status);
    case IRECV_WAITALL:
    case IRECV_TESTALL:
        return until_all(receive);
    case IRECV_WAITSOME:
    case IRECV_TESTSOME:
        return until_some(receive);
    case IRECV_STATUS:
        return until_status(receive);
    default:
        return MPI_Wait(&receive->request[0], &receive->status);
    }
}

static int receive_matched(struct receive *receive)
{
    struct buffer *in = &receive->in;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = 0, rc;

    if (receive->plan->recv == MRECV)
        MPI_Mprobe(source_of(receive), tag_of(receive), receive->comm, &message,
                   &status);
    while (receive->plan->recv == IMRECV && !flag)
        MPI_Improbe(source_of(receive), tag_of(receive), receive->comm, &flag,
                    &message, &status);
    CHECK(gpu_bytes(&status) == (int)receive->plan->sent);
    if (receive->plan->recv == MRECV)
        rc = MPI_Mrecv(in->memory.at, in->count, in->type, &message,
                       &receive->status);
    else
        rc = MPI_Imrecv(in->memory.at, in->count, in->type, &message,
                        &receive->request[0]);
    CHECK(message == MPI_MESSAGE_NULL || rc != MPI_SUCCESS);
    return receive->plan->recv == MRECV
               ? rc
               : MPI_Wait(&receive->request[0], &receive->status);
}

static int receive_whole(struct receive *receive)
{
    const struct plan *plan = receive->plan;
    struct buffer *in = &receive->in;
    int source = source_of(receive), tag = tag_of(receive);

    switch (plan->recv) {
    case RECV:
        return MPI_Recv(in->memory.at, in->count, in->type, source, tag,
                        receive->comm, &receive->status);
    case SENDRECV_FROM:
        return MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, in->memory.at,
                            in->count, in->type, source, tag, receive->comm,
                            &receive->status);
    case REPLACE:
        return MPI_Sendrecv_replace(in->memory.at, in->count, in->type,
                                    MPI_PROC_NULL, 0, source, tag,
                                    receive->comm, &receive->status);
    case ISENDRECV_FROM:
        MPI_Isendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, in->memory.at,
                      in->count, in->type, source, tag, receive->comm,
                      &receive->request[0]);
        break;
    case IREPLACE:
        MPI_Isendrecv_replace(in->memory.at, in->count, in->type, MPI_PROC_NULL,
                              0, source, tag, receive->comm,
                              &receive->request[0]);
        break;
    default:
        return receive_matched(receive);
    }
    return MPI_Wait(&receive->request[0], &receive->status);
}

static void end(struct receive *receive)
{
    const struct plan *plan = receive->plan;
    int fits = plan->sent <= plan->posted;
    size_t got = fits ? plan->sent : plan->posted;

    CHECK(gpu_class(receive->rc) == (fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
    if (fits) {
        CHECK(receive->status.MPI_SOURCE == receive->from);
        CHECK(receive->status.MPI_TAG == plan->tag);
        CHECK(gpu_bytes(&receive->status) == (int)got);
        see(&receive->in, got, plan->seed);
    }
    if (receive->request[0] != MPI_REQUEST_NULL)
        MPI_Request_free(&receive->request[0]);
    delete (&receive->in);
}

static void prepare(struct receive *receive, const struct batch *batch, int i)
{
    *receive =
        (struct receive){.plan = &batch->plan[i],
                         .comm = comms[batch->comm],
                         .from = batch->from,
                         .request = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
    use(receive->plan->in_device);
    make(&receive->in, receive->plan->in_kind, receive->plan->in_shape,
         receive->plan->posted);
    put(&receive->in);
    if (batch->posted_first)
        post(receive);
}

/* First come, first served for a tag. */
static void receive_all(const struct batch *batch, struct receive *receives)
{
    for (int i = 0; i < batch->count; i++) {
        struct receive *receive = &receives[i];

        look(receive);
        if (plan_is_immediate(receive->plan->recv) && !batch->posted_first)
            post(receive);
        receive->rc = plan_is_immediate(receive->plan->recv)
                          ? complete(receive)
                          : receive_whole(receive);
        end(receive);
    }
}

/* A message to oneself is sent by the same thread: only batches that cannot
 * block are. */
static int may_run(const struct batch *batch)
{
    if (batch->from != batch->to)
        return 1;
    for (int i = 0; i < batch->count; i++)
        if (batch->plan[i].send != BSEND || !batch->posted_first)
            return 0;
    return 1;
}

static void run(const struct batch *batch)
{
    struct receive receives[MOST];
    int receiver = gpu_rank == batch->to;

    for (int i = 0; i < batch->count && receiver; i++)
        prepare(&receives[i], batch, i);
    if (batch->posted_first)
        MPI_Barrier(MPI_COMM_WORLD);
    if (gpu_rank == batch->from)
        send_all(batch);
    if (receiver)
        receive_all(batch, receives);
}

/* The same ranks, and the same backwards. */
static void make_comms(void)
{
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    for (int i = 0; i < 3; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    MPI_Type_create_resized(MPI_INT, 0, 8, &gaps);
    MPI_Type_commit(&gaps);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK");
    struct batch batch;
    int laps, level;

    CHECK(argc == 4);
    level = argv[3][0] == 'm' ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    if (argv[3][0] == 'f') /* every other rank is far */
        CHECK(setenv("MPIX_SIM_HOST", rank && rank[0] % 2 ? "b" : "a", 1) == 0);
    gpu_begin_at(&argc, &argv, level);
    plan_seed(strtoull(argv[1], NULL, 10));
    laps = (int)strtol(argv[2], NULL, 10);
    make_comms();
    MPI_Buffer_attach(attached, sizeof(attached));
    for (int lap = 0; lap < laps; lap++) {
        plan_draw(&batch, lap);
        if (may_run(&batch))
            run(&batch);
        if (lap % 16 == 15)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Buffer_detach(&(void *){NULL}, &(int){0});
    MPI_Type_free(&gaps);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    gpu_end("direct");
    return 0;
}
