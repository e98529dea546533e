/* Lengths, statuses, and errors of arguments and of operations. */
#include "tests/enq/enq.h"

#include <string.h>

/* Sent more than there is room for: the stream goes on, and later messages
 * match. The error is told once, at the next call on the communicator. */
static void truncation(void)
{
    struct enq_lane lane;
    struct enq_buffer large, small, after;
    MPI_Request request;
    MPI_Status status;
    int code = MPI_SUCCESS;

    enq_lane_open(&lane);
    enq_errors_count(lane.comm);
    enq_buffer_open(&large, 8000);
    enq_buffer_open(&small, 4000);
    enq_buffer_open(&after, 100);
    if (enq.rank == 0) {
        enq_fill(&large, 1);
        enq_fill(&after, 2);
        enq_send(&lane, &large, 1, 1);
        enq_send(&lane, &after, 1, 1);
    } else if (enq.rank == 1) {
        memset(&status, 0xff, sizeof(status));
        enq_irecv(&lane, &small, 0, 1, &request);
        ENQ_OK(MPIX_Waitall_enqueue(1, &request, &status));
        enq_sync(&lane);
        CHECK(status.MPI_ERROR == MPI_ERR_TRUNCATE);
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 1);
        ENQ_OK(MPIX_Stream_get_error(lane.stream, &code, NULL));
        CHECK(enq_class(code) == MPI_ERR_TRUNCATE);
        MPIX_Recv_enqueue(after.at, 100, MPI_BYTE, 0, 1, lane.comm, &status);
        enq_sync(&lane);
        CHECK(enq_errors() == 1);
        enq_status_is(&status, 0, 1, 100);
        enq_expect(&after, 100, 2);
        enq_expect(&small, 4000, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&after);
    enq_buffer_close(&small);
    enq_buffer_close(&large);
}

static void short_message(const struct enq_lane *lane, size_t sent,
                          size_t posted)
{
    struct enq_buffer out, in;
    MPI_Status status;

    enq_buffer_open(&out, sent);
    enq_buffer_open(&in, posted);
    if (enq.rank == 0) {
        enq_fill(&out, 1);
        enq_send(lane, &out, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(lane, &in, 0, 1, &status);
    }
    enq_sync(lane);
    if (enq.rank == 1) {
        enq_status_is(&status, 0, 1, sent);
        enq_expect(&in, sent, 1);
    }
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

static void short_messages(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++) {
        short_message(&lane, *size, *size + 1);
        short_message(&lane, *size, 2 * *size + 70000);
    }
    enq_lane_close(&lane);
}

enum { BLOCKS = 100, BLOCK = 3, STRIDE = 7 };

/* Byte i of what lies at offset i of a strided buffer of `sent` blocks. */
static void expect_strided(const struct enq_buffer *b, int sent)
{
    static unsigned char got[BLOCKS * STRIDE];

    enq_read(b, got, sizeof(got));
    for (int i = 0; i < BLOCKS * STRIDE; i++) {
        bool data = i % STRIDE < BLOCK && i / STRIDE < sent;

        CHECK(got[i] == enq_byte(data ? 1 : 0, (size_t)i + (data ? 0 : 256)));
    }
}

/* Fewer blocks than posted, in a type with gaps. */
static void short_strided_message(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Datatype block, type;
    MPI_Status status;
    int count;

    enq_lane_open(&lane);
    enq_buffer_open(&b, (size_t)BLOCKS * STRIDE);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, STRIDE, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&block);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        ENQ_OK(MPIX_Send_enqueue(b.at, BLOCKS / 2, type, 1, 1, lane.comm));
    } else if (enq.rank == 1) {
        ENQ_OK(MPIX_Recv_enqueue(b.at, BLOCKS, type, 0, 1, lane.comm, &status));
    }
    enq_sync(&lane);
    if (enq.rank == 1) {
        ENQ_OK(MPI_Get_count(&status, type, &count));
        CHECK(count == BLOCKS / 2);
        expect_strided(&b, BLOCKS / 2);
    }
    MPI_Type_free(&type);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* A message that ends within a block: MPI_BYTE sent, blocks received. */
static void ragged_message(void)
{
    enum { SENT = 100 };
    struct enq_lane lane;
    struct enq_buffer out, in;
    MPI_Datatype block, type;
    MPI_Status status;
    static unsigned char got[BLOCKS * STRIDE];
    int count;

    enq_lane_open(&lane);
    enq_buffer_open(&out, SENT);
    enq_buffer_open(&in, (size_t)BLOCKS * STRIDE);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, STRIDE, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&block);
    if (enq.rank == 0) {
        enq_fill(&out, 1);
        enq_send(&lane, &out, 1, 1);
    } else if (enq.rank == 1) {
        ENQ_OK(
            MPIX_Recv_enqueue(in.at, BLOCKS, type, 0, 1, lane.comm, &status));
    }
    enq_sync(&lane);
    if (enq.rank == 1) {
        enq_status_is(&status, 0, 1, SENT);
        ENQ_OK(MPI_Get_count(&status, type, &count));
        CHECK(count == MPI_UNDEFINED);
        enq_read(&in, got, sizeof(got));
        for (int i = 0, next = 0; i < BLOCKS * STRIDE; i++) {
            bool data = i % STRIDE < BLOCK && next < SENT;

            CHECK(got[i] == (data ? enq_byte(1, (size_t)next)
                                  : enq_byte(0, (size_t)i + 256)));
            next += data;
        }
    }
    MPI_Type_free(&type);
    enq_lane_close(&lane);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

/* Elements of no size, and no elements of some: they match like any message. */
static void zero_size_types(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Datatype nothing;
    MPI_Request requests[2];
    MPI_Status status[2];

    enq_lane_open(&lane);
    enq_buffer_open(&b, 16);
    MPI_Type_contiguous(0, MPI_DOUBLE, &nothing);
    MPI_Type_commit(&nothing);
    if (enq.rank == 0) {
        ENQ_OK(MPIX_Isend_enqueue(b.at, 5, nothing, 1, 1, lane.comm,
                                  &requests[0]));
        ENQ_OK(MPIX_Isend_enqueue(NULL, 0, MPI_BYTE, 1, 1, lane.comm,
                                  &requests[1]));
        enq_waitall(2, requests);
    } else if (enq.rank == 1) {
        ENQ_OK(MPIX_Irecv_enqueue(b.at, 16, MPI_BYTE, 0, 1, lane.comm,
                                  &requests[0]));
        ENQ_OK(MPIX_Irecv_enqueue(b.at, 7, nothing, 0, 1, lane.comm,
                                  &requests[1]));
        memset(status, 0xff, sizeof(status));
        ENQ_OK(MPIX_Waitall_enqueue(2, requests, status));
    }
    enq_sync(&lane);
    for (int i = 0; i < 2 && enq.rank == 1; i++)
        enq_status_is(&status[i], 0, 1, 0);
    enq_expect(&b, 0, 1);
    MPI_Type_free(&nothing);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* Empty messages match in order with others, and make the receiver wait. */
static void zero_bytes(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 40);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_gate_hold(&gate, lane.cu);
        ENQ_OK(MPIX_Send_enqueue(NULL, 0, MPI_INT, 1, 1, lane.comm));
        enq_send(&lane, &b, 1, 1);
        enq_hear(1);
        enq_gate_open(&gate);
    } else if (enq.rank == 1) {
        memset(&status, 0xff, sizeof(status));
        ENQ_OK(
            MPIX_Recv_enqueue(NULL, 0, MPI_DOUBLE, 0, 1, lane.comm, &status));
        CHECK(mgds_cu.cuStreamQuery(lane.cu) == CUDA_ERROR_NOT_READY);
        enq_tell(0);
        enq_sync(&lane);
        enq_status_is(&status, 0, 1, 0);
        enq_recv(&lane, &b, 0, 1, &status);
        enq_sync(&lane);
        enq_status_is(&status, 0, 1, 40);
        enq_expect(&b, 40, 1);
    }
    ENQ_OK(MPIX_Waitall_enqueue(0, NULL, NULL));
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* All calls; each ends in stream order, by itself. */
static void proc_null(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request requests[2];
    MPI_Status status[3];

    enq_lane_open(&lane);
    enq_buffer_open(&b, 1000);
    memset(status, 0xff, sizeof(status));
    enq_send(&lane, &b, MPI_PROC_NULL, 1);
    enq_recv(&lane, &b, MPI_PROC_NULL, 1, &status[0]);
    enq_isend(&lane, &b, MPI_PROC_NULL, 1, &requests[0]);
    enq_irecv(&lane, &b, MPI_PROC_NULL, 1, &requests[1]);
    ENQ_OK(MPIX_Waitall_enqueue(2, requests, status + 1));
    enq_sync(&lane);
    enq_status_is(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    enq_status_is(&status[2], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    enq_expect(&b, 0, 1);
    enq_irecv(&lane, &b, MPI_PROC_NULL, 1, &requests[0]);
    ENQ_OK(MPI_Wait(&requests[0], &status[0]));
    enq_status_is(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* One set of arguments, given to all eight calls. */
struct wrong {
    int count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
    int class;
};

static int call(int which, void *at, const struct wrong *w)
{
    MPI_Status status;
    MPI_Request request;

    switch (which) {
    case 0:
        return MPIX_Send_enqueue(at, w->count, w->type, w->peer, w->tag,
                                 w->comm);
    case 1:
        return MPIX_Isend_enqueue(at, w->count, w->type, w->peer, w->tag,
                                  w->comm, &request);
    case 2:
        return MPIX_Recv_enqueue(at, w->count, w->type, w->peer, w->tag,
                                 w->comm, &status);
    case 3:
        return MPIX_Irecv_enqueue(at, w->count, w->type, w->peer, w->tag,
                                  w->comm, &request);
    case 4:
        return MPIX_Send_enqueue_c(at, w->count, w->type, w->peer, w->tag,
                                   w->comm);
    case 5:
        return MPIX_Isend_enqueue_c(at, w->count, w->type, w->peer, w->tag,
                                    w->comm, &request);
    case 6:
        return MPIX_Recv_enqueue_c(at, w->count, w->type, w->peer, w->tag,
                                   w->comm, &status);
    default:
        return MPIX_Irecv_enqueue_c(at, w->count, w->type, w->peer, w->tag,
                                    w->comm, &request);
    }
}

/* Told at the call by its class; nothing is put on the stream. */
static void refused(const struct enq_lane *lane, void *at,
                    const struct wrong *wrong, unsigned calls)
{
    for (int which = 0; which < 8; which++) {
        int class;

        if (!(calls & 1u << (which & 3)))
            continue;
        class = enq_class(call(which, at, wrong));
        if (class != wrong->class)
            fprintf(stderr, "call %d: class %d, should be %d\n", which, class,
                    wrong->class);
        CHECK(class == wrong->class);
        CHECK(mgds_cu.cuStreamQuery(lane->cu) == CUDA_SUCCESS);
    }
}

static MPI_Comm freed_comm(void)
{
    struct enq_lane lane;
    MPI_Comm copy;

    enq_lane_open(&lane);
    copy = lane.comm;
    enq_lane_close(&lane);
    return copy;
}

enum { SENDS = 3, ALL = 15 };

static void argument_errors(void)
{
    struct enq_lane lane, none;
    struct enq_buffer b;
    MPI_Datatype open_type;
    MPI_Comm freed;

    enq_lane_open_as(&none, false);
    enq_lane_open(&lane);
    freed = freed_comm(); /* the last to be made: nobody takes its handle */
    enq_buffer_open(&b, 16);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(none.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &open_type);
    const struct {
        struct wrong wrong;
        unsigned calls;
    } rows[] = {
        {{-1, MPI_BYTE, 0, 1, lane.comm, MPI_ERR_COUNT}, ALL},
        {{1, open_type, 0, 1, lane.comm, MPI_ERR_TYPE}, ALL},
        {{1, MPI_DATATYPE_NULL, 0, 1, lane.comm, MPI_ERR_TYPE}, ALL},
        {{1, MPI_BYTE, enq.size, 1, lane.comm, MPI_ERR_RANK}, ALL},
        {{1, MPI_BYTE, -9, 1, lane.comm, MPI_ERR_RANK}, ALL},
        {{1, MPI_BYTE, MPI_ANY_SOURCE, 1, lane.comm, MPI_ERR_RANK}, SENDS},
        {{1, MPI_BYTE, 0, -7, lane.comm, MPI_ERR_TAG}, ALL},
        {{1, MPI_BYTE, 0, MPI_ANY_TAG, lane.comm, MPI_ERR_TAG}, SENDS},
        {{1, MPI_BYTE, 0, 0x7fffffff, lane.comm, MPI_ERR_TAG}, ALL},
        {{1, MPI_BYTE, 0, 1, none.comm, MPI_ERR_OTHER}, ALL},
        {{1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_ERR_OTHER}, ALL},
        {{1, MPI_BYTE, 0, 1, MPI_COMM_NULL, MPI_ERR_COMM}, ALL},
        {{1, MPI_BYTE, 0, 1, freed, MPI_ERR_COMM}, ALL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        refused(&lane, b.at, &rows[i].wrong, rows[i].calls);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&open_type);
    enq_expect(&b, 0, 1);
    enq_lane_close(&lane);
    enq_lane_close(&none);
    enq_buffer_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case16_truncation", 2, truncation},
        {"case17_short_messages", 2, short_messages},
        {"case17_short_strided_message", 2, short_strided_message},
        {"case17_ragged_message", 2, ragged_message},
        {"case18_zero_bytes", 2, zero_bytes},
        {"case18_zero_size_types", 2, zero_size_types},
        {"case19_proc_null", 1, proc_null},
        {"case20_argument_errors", 1, argument_errors},
        {0},
    };

    return enq_main(argc, argv, "enq status", cases);
}
