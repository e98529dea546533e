/*
 * What errors say: the function that the program has called, the argument, its
 * value and what it may be; or the operation that failed. Class, code and text
 * agree, a handler gets the same code, and no number of errors uses up MPI's
 * codes or memory.
 */
#include "tests/enq/enq.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/sanitized.h"

enum { NO_RANK = 17, NO_STREAM = 5 };

static struct enq_lane lane;
static char host[16];
static int told; /* the code that the handler was given last */

static void hear(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    told = *code;
}

static MPI_Errhandler handler;

static void open_lane(void)
{
    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_create_errhandler(hear, &handler));
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, handler));
    ENQ_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    ENQ_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
}

static void close_lane(void)
{
    ENQ_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    ENQ_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ENQ_OK(MPI_Errhandler_free(&handler));
    enq_lane_close(&lane);
}

static void has_text(int code, int class, const char *want)
{
    char got[MPI_MAX_ERROR_STRING], again[MPI_MAX_ERROR_STRING];
    int length = -1, seen;

    ENQ_OK(MPI_Error_class(code, &seen));
    ENQ_OK(MPI_Error_string(code, got, &length));
    if (strcmp(got, want) != 0)
        fprintf(stderr, "want: %s\n got: %s\n", want, got);
    CHECK(strcmp(got, want) == 0);
    CHECK(seen == class);
    CHECK(length == (int)strlen(got));
    ENQ_OK(PMPI_Error_string(code, again, &length));
    CHECK(strcmp(got, again) == 0);
}

/* A call has returned that code, and its handler was told. */
__attribute__((format(printf, 3, 4))) static void says(int code, int class,
                                                       const char *format, ...)
{
    char want[MPI_MAX_ERROR_STRING];
    va_list args;

    va_start(args, format);
    vsnprintf(want, sizeof(want), format, args);
    va_end(args);
    has_text(code, class, want);
    CHECK(told == code);
    told = MPI_SUCCESS;
}

static void messages(void)
{
    const int most = enq.size - 1;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;
    int flag, *tag_ub;

    ENQ_OK(MPI_Comm_get_attr(lane.comm, MPI_TAG_UB, &tag_ub, &flag));
    ENQ_OK(MPI_Type_contiguous(3, MPI_BYTE, &type));
    says(MPIX_Send_enqueue(host, 1, MPI_BYTE, NO_RANK, 0, lane.comm),
         MPI_ERR_RANK, "MPIX_Send_enqueue: rank is 17, must be 0 to %d", most);
    says(MPIX_Send_enqueue_c(host, 1, MPI_BYTE, NO_RANK, 0, lane.comm),
         MPI_ERR_RANK, "MPIX_Send_enqueue_c: rank is 17, must be 0 to %d",
         most);
    says(MPIX_Recv_enqueue(host, 1, MPI_BYTE, -9, 0, lane.comm, &status),
         MPI_ERR_RANK, "MPIX_Recv_enqueue: rank is -9, must be 0 to %d", most);
    says(MPIX_Isend_enqueue(host, -3, MPI_BYTE, 0, 0, lane.comm, &request),
         MPI_ERR_COUNT, "MPIX_Isend_enqueue: count is -3, must be 0 or more");
    says(MPIX_Irecv_enqueue(host, 1, MPI_BYTE, 0, -5, lane.comm, &request),
         MPI_ERR_TAG, "MPIX_Irecv_enqueue: tag is -5, must be 0 to %d",
         *tag_ub);
    says(MPIX_Irecv_enqueue(host, 1, MPI_BYTE, 0, 0, lane.comm, NULL),
         MPI_ERR_ARG, "MPIX_Irecv_enqueue: request is NULL");
    says(MPIX_Send_enqueue(NULL, 2, MPI_BYTE, 0, 0, lane.comm), MPI_ERR_BUFFER,
         "MPIX_Send_enqueue: buf is NULL, and count is 2");
    says(MPIX_Send_enqueue(host, 1, MPI_DATATYPE_NULL, 0, 0, lane.comm),
         MPI_ERR_TYPE, "MPIX_Send_enqueue: datatype is MPI_DATATYPE_NULL");
    says(MPIX_Send_enqueue(host, 1, type, 0, 0, lane.comm), MPI_ERR_TYPE,
         "MPIX_Send_enqueue: datatype is 0x%08x, which is none, or was not "
         "committed (MPI_Type_commit)",
         (unsigned)type);
    says(MPI_Send(host, 1, MPI_BYTE, NO_RANK, 0, lane.comm), MPI_ERR_RANK,
         "MPI_Send: rank is 17, must be 0 to %d", most);
    says(MPI_Irecv(host, 1, MPI_BYTE, 0, 0, lane.comm, NULL), MPI_ERR_ARG,
         "MPI_Irecv: request is NULL");
    ENQ_OK(MPI_Type_free(&type));
}

static void communicators(void)
{
    static const char no_gpu[] =
        "comm has no GPU stream in this process: make it with "
        "MPIX_Stream_comm_create and a stream of type cudaStream_t";
    MPIX_Stream stream;
    MPI_Comm comm;

    says(MPIX_Send_enqueue(host, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD),
         MPI_ERR_OTHER, "MPIX_Send_enqueue: %s", no_gpu);
    says(MPIX_Send_enqueue(host, 1, MPI_BYTE, 0, 0, MPI_COMM_NULL),
         MPI_ERR_COMM, "MPIX_Send_enqueue: comm is MPI_COMM_NULL");
    says(MPIX_Send_enqueue(host, 1, MPI_BYTE, 0, 0, (MPI_Comm)77), MPI_ERR_COMM,
         "MPIX_Send_enqueue: comm is 0x0000004d, which is no communicator");
    says(MPIX_Stream_send(host, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, 0, 0),
         MPI_ERR_COMM,
         "MPIX_Stream_send: comm is no stream communicator: make it with "
         "MPIX_Stream_comm_create");
    says(MPIX_Stream_send(host, 1, MPI_BYTE, 0, 0, lane.comm, 4, 0),
         MPI_ERR_ARG,
         "MPIX_Stream_send: source_stream_index is 4, must be 0 to 0");
    says(MPIX_Stream_send(host, 1, MPI_BYTE, 0, 0, lane.comm, 0, -1),
         MPI_ERR_ARG,
         "MPIX_Stream_send: dest_stream_index is -1, must be 0 to 0");
    says(MPIX_Comm_get_stream(lane.comm, 3, &stream), MPI_ERR_ARG,
         "MPIX_Comm_get_stream: idx is 3, must be 0 to 0");
    says(MPIX_Comm_get_stream(lane.comm, 0, NULL), MPI_ERR_ARG,
         "MPIX_Comm_get_stream: stream is NULL");
    says(MPIX_Stream_comm_create(MPI_COMM_WORLD, NO_STREAM, &comm),
         MPI_ERR_OTHER,
         "MPIX_Stream_comm_create: stream 0 is 0x00000005, which is no "
         "MPIX_Stream, or one that was freed");
    says(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, -2, NULL, &comm),
         MPI_ERR_ARG,
         "MPIX_Stream_comm_create_multiplex: count is -2, must be 0 or more");
    says(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD,
                                           enq.rank == 0 ? -2 : 0, NULL, &comm),
         enq.rank == 0 ? MPI_ERR_ARG : MPI_ERR_OTHER,
         "MPIX_Stream_comm_create_multiplex: %s",
         enq.rank == 0 ? "count is -2, must be 0 or more"
                       : "another member of the communicator could not do its "
                         "part: its error says why");
    says(MPIX_Allreduce_enqueue(host, host, 1, MPI_BYTE, MPI_BOR, lane.comm),
         MPI_ERR_UNSUPPORTED_OPERATION,
         "MPIX_Allreduce_enqueue: it is not there in this version: "
         "synchronise the stream and call MPI_Allreduce");
}

static void infos(void)
{
    MPIX_Stream stream;
    MPI_Info info;
    int number = 0, flag;

    ENQ_OK(MPI_Info_create(&info));
    ENQ_OK(MPI_Info_set(info, "type", "hipStream_t"));
    says(MPIX_Stream_create(info, &stream), MPI_ERR_OTHER,
         "MPIX_Stream_create: the info's \"type\" is \"hipStream_t\", must be "
         "\"cudaStream_t\"");
    ENQ_OK(MPI_Info_set(info, "type", "cudaStream_t"));
    says(MPIX_Stream_create(info, &stream), MPI_ERR_OTHER,
         "MPIX_Stream_create: the info has a \"type\" but no \"value\": set it "
         "with MPIX_Info_set_hex");
    ENQ_OK(MPI_Info_set(info, "value", "stream 1"));
    says(MPIX_Stream_create(info, &stream), MPI_ERR_OTHER,
         "MPIX_Stream_create: the info's \"value\" is \"stream 1\", must be a "
         "cudaStream_t that MPIX_Info_set_hex has set");
    says(MPIX_Info_get_hex(info, "value", &number, sizeof(number), &flag),
         MPI_ERR_INFO_VALUE,
         "MPIX_Info_get_hex: the info's value is \"stream 1\", which is not 4 "
         "bytes that MPIX_Info_set_hex has set");
    says(MPIX_Info_set_hex(info, "value", NULL, 4), MPI_ERR_ARG,
         "MPIX_Info_set_hex: value is NULL");
    says(MPIX_Info_set_hex(info, "value", &number, -4), MPI_ERR_ARG,
         "MPIX_Info_set_hex: value_size is -4, must be 0 or more");
    says(MPIX_Stream_create(info, NULL), MPI_ERR_ARG,
         "MPIX_Stream_create: stream is NULL");
    ENQ_OK(MPI_Info_free(&info));
}

static void streams(void)
{
    MPIX_Stream none = NO_STREAM, null = MPIX_STREAM_NULL;
    int code, type;
    CUstream cu;

    says(MPIX_Stream_free(&none), MPI_ERR_OTHER,
         "MPIX_Stream_free: stream is 0x00000005, which is no MPIX_Stream, or "
         "one that was freed");
    says(MPIX_Stream_free(&null), MPI_ERR_OTHER,
         "MPIX_Stream_free: stream is MPIX_STREAM_NULL");
    says(MPIX_Stream_get_error(lane.stream, NULL, NULL), MPI_ERR_ARG,
         "MPIX_Stream_get_error: errcode is NULL");
    says(MPIX_Stream_get_native(lane.stream, &type, &cu, 3), MPI_ERR_ARG,
         "MPIX_Stream_get_native: handle_size is 3, must be 0 or 8");
    says(MPIX_Stream_synchronize(lane.stream, -0.5), MPI_ERR_ARG,
         "MPIX_Stream_synchronize: timeout_s is -0.5, must be 0 or more");
    says(MPIX_Stream_dump(lane.stream, -1), MPI_ERR_ARG,
         "MPIX_Stream_dump: fd is -1, to which nothing can be written: Bad "
         "file descriptor");
    ENQ_OK(MPIX_Stream_get_error(lane.stream, &code, NULL));
    CHECK(code == MPI_SUCCESS);
}

static void waits(void)
{
    MPI_Request request = MPI_REQUEST_NULL, two[2];
    MPI_Status status;

    says(MPIX_Wait_enqueue(NULL, &status), MPI_ERR_ARG,
         "MPIX_Wait_enqueue: request is NULL");
    says(MPIX_Wait_enqueue(&request, NULL), MPI_ERR_ARG,
         "MPIX_Wait_enqueue: status is NULL");
    says(MPIX_Waitall_enqueue(-7, &request, &status), MPI_ERR_COUNT,
         "MPIX_Waitall_enqueue: count is -7, must be 0 or more");
    ENQ_OK(MPI_Irecv(host, 1, MPI_BYTE, enq.rank, 9, MPI_COMM_WORLD, &request));
    says(MPIX_Wait_enqueue(&request, &status), MPI_ERR_REQUEST,
         "MPIX_Wait_enqueue: request is 0x%08x, which no call on a stream "
         "communicator has made, or a wait has had already",
         (unsigned)request);
    two[0] = MPI_REQUEST_NULL;
    two[1] = request;
    says(MPIX_Waitall_enqueue(2, two, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST,
         "MPIX_Waitall_enqueue: requests[1] is 0x%08x, which no call on a "
         "stream communicator has made, or a wait has had already",
         (unsigned)request);
    ENQ_OK(MPI_Cancel(&request));
    ENQ_OK(MPI_Wait(&request, &status));
}

static void arguments(void)
{
    open_lane();
    messages();
    communicators();
    infos();
    streams();
    waits();
    close_lane();
}

/* Each call that would put something on a stream; the text behind its name. */
static const char in_capture[] =
    "the stream is being captured into a graph, which this version cannot do: "
    "make the call outside of the capture";

static void captured_messages(MPI_Request *started)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;

    says(MPIX_Send_enqueue(host, 1, MPI_BYTE, 0, 0, lane.comm),
         MPI_ERR_UNSUPPORTED_OPERATION, "MPIX_Send_enqueue: %s", in_capture);
    says(MPIX_Recv_enqueue(host, 1, MPI_BYTE, 0, 0, lane.comm, &status),
         MPI_ERR_UNSUPPORTED_OPERATION, "MPIX_Recv_enqueue: %s", in_capture);
    says(MPIX_Recv_enqueue(host, 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                           lane.comm, &status),
         MPI_ERR_UNSUPPORTED_OPERATION, "MPIX_Recv_enqueue: %s", in_capture);
    says(MPIX_Isend_enqueue_c(host, 1, MPI_BYTE, 0, 0, lane.comm, &request),
         MPI_ERR_UNSUPPORTED_OPERATION, "MPIX_Isend_enqueue_c: %s", in_capture);
    says(MPIX_Irecv_enqueue(host, 1, MPI_BYTE, 0, 0, lane.comm, &request),
         MPI_ERR_UNSUPPORTED_OPERATION, "MPIX_Irecv_enqueue: %s", in_capture);
    CHECK(request == MPI_REQUEST_NULL);
    says(MPIX_Wait_enqueue(started, &status), MPI_ERR_UNSUPPORTED_OPERATION,
         "MPIX_Wait_enqueue: %s", in_capture);
    says(MPIX_Waitall_enqueue(1, started, &status),
         MPI_ERR_UNSUPPORTED_OPERATION, "MPIX_Waitall_enqueue: %s", in_capture);
}

static void captured_starts(MPI_Request *persistent)
{
    says(MPIX_Start_enqueue(persistent), MPI_ERR_UNSUPPORTED_OPERATION,
         "MPIX_Start_enqueue: %s", in_capture);
    says(MPIX_Startall_enqueue(1, persistent), MPI_ERR_UNSUPPORTED_OPERATION,
         "MPIX_Startall_enqueue: %s", in_capture);
    says(MPIX_Stream_group_start(lane.stream), MPI_ERR_UNSUPPORTED_OPERATION,
         "MPIX_Stream_group_start: %s", in_capture);
}

/* Nothing of it is in the graph, and all requests are as they were. */
static void captured(void)
{
    MPI_Request started, persistent;

    open_lane();
    ENQ_OK(MPIX_Irecv_enqueue(host, 1, MPI_BYTE, MPI_PROC_NULL, 0, lane.comm,
                              &started));
    ENQ_OK(MPI_Send_init(host, 1, MPI_BYTE, MPI_PROC_NULL, 0, lane.comm,
                         &persistent));
    enq_capture_begin(&lane);
    captured_messages(&started);
    captured_starts(&persistent);
    CHECK(enq_capture_end(&lane) == 0);
    ENQ_OK(MPIX_Wait_enqueue(&started, MPI_STATUS_IGNORE));
    ENQ_OK(MPIX_Start_enqueue(&persistent));
    ENQ_OK(MPIX_Wait_enqueue(&persistent, MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Request_free(&persistent));
    close_lane();
}

/* It failed on the stream, long after its call: the handler hears of it in a
 * later call, and so does who asks the stream. */
static void truncated(const char *named)
{
    struct enq_buffer b;
    char want[MPI_MAX_ERROR_STRING];
    int code;

    enq_buffer_open(&b, 128);
    if (enq.rank == 0) {
        enq_send(&lane, &b, 1, 7);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
    } else {
        ENQ_OK(MPIX_Recv_enqueue(b.at, 64, MPI_BYTE, 0, 7, lane.comm,
                                 MPI_STATUS_IGNORE));
        snprintf(want, sizeof(want),
                 "a receive from rank 0, tag 7, 64 bytes, communicator %s, "
                 "stream 0x%" PRIxPTR
                 ": truncated: its message from rank 0 has 128 bytes",
                 named, (uintptr_t)lane.cu);
        says(MPIX_Stream_synchronize(lane.stream, 60), MPI_ERR_TRUNCATE,
             "MPIX_Stream_synchronize: earlier, %s", want);
        ENQ_OK(MPIX_Stream_get_error(lane.stream, &code, NULL));
        told = code;
        says(code, MPI_ERR_TRUNCATE, "MPIX_Stream_get_error: earlier, %s",
             want);
    }
    enq_buffer_close(&b);
}

static void torn(void)
{
    struct enq_buffer b;
    MPI_Datatype every_other;

    enq_buffer_open(&b, 64);
    ENQ_OK(MPI_Type_vector(8, 1, 2, MPI_INT, &every_other));
    ENQ_OK(MPI_Type_commit(&every_other));
    if (enq.rank == 0) {
        ENQ_OK(MPIX_Send_enqueue(b.at, 7, MPI_CHAR, 1, 7, lane.comm));
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
    } else {
        ENQ_OK(MPIX_Recv_enqueue(b.at, 1, every_other, 0, 7, lane.comm,
                                 MPI_STATUS_IGNORE));
        says(MPIX_Stream_synchronize(lane.stream, 60), MPI_ERR_TRUNCATE,
             "MPIX_Stream_synchronize: earlier, a receive from rank 0, tag 7, "
             "32 bytes, communicator \"halo\", stream 0x%" PRIxPTR
             ": its message from rank 0 has 7 bytes, which end inside an "
             "element of 4",
             (uintptr_t)lane.cu);
    }
    ENQ_OK(MPI_Type_free(&every_other));
    enq_buffer_close(&b);
}

static void operations(void)
{
    open_lane();
    truncated("without a name");
    ENQ_OK(MPI_Comm_set_name(lane.comm, "halo"));
    truncated("\"halo\"");
    torn();
    close_lane();
}

/* Each with another text. */
static void fail_often(int from, int times)
{
    char text[MPI_MAX_ERROR_STRING];
    int code, length;

    for (int tag = -from; tag > -from - times; tag--) {
        code = MPI_Send(host, 1, MPI_BYTE, 0, tag, lane.comm);
        CHECK(code != MPI_SUCCESS);
        if (tag % 1000 != 0)
            continue;
        ENQ_OK(MPI_Error_string(code, text, &length));
        CHECK(atoi(text + strlen("MPI_Send: tag is ")) == tag);
    }
}

static int last_code(void)
{
    int *code, flag;

    ENQ_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &code, &flag));
    CHECK(flag);
    return *code;
}

static void many_errors(void)
{
    const int times = MGDS_SANITIZED ? 20000 : 1000000;
    size_t before;
    int last;

    open_lane();
    fail_often(10, 1000);
    last = last_code();
    before = mallinfo2().uordblks;
    fail_often(2000, times);
    CHECK(last_code() == last);
    CHECK(MGDS_SANITIZED || mallinfo2().uordblks < before + 4096);
    close_lane();
}

/* The program's own codes are its own, and so are those of the MPI. */
static void others_codes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, code, length;

    open_lane();
    ENQ_OK(MPI_Add_error_class(&class));
    ENQ_OK(MPI_Add_error_code(class, &code));
    ENQ_OK(MPI_Add_error_string(code, "of the program"));
    fail_often(10, 100);
    ENQ_OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "of the program") == 0);
    ENQ_OK(MPI_Error_string(MPI_ERR_TAG, text, &length));
    CHECK(strncmp(text, "MPI_Send", 8) != 0);
    close_lane();
}

/* MPI's own handler ends the job, and says for which call. */
static void fatal(void)
{
    enq_lane_open(&lane);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (enq.rank == 0)
        MPIX_Send_enqueue(host, 1, MPI_BYTE, NO_RANK, 0, lane.comm);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    puts("not reached");
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"arguments", 2, arguments},
        {"case28_captured", 2, captured},
        {"operations", 2, operations},
        {"others_codes", 2, others_codes},
        {"many_errors", 2, many_errors},
        {"fatal", 2, fatal},
        {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name a case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq text", cases);
}
