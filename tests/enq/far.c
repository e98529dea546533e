/*
 * Messages of streams of two hosts by an HCA (MPIX_GDS_IB=cpu), on the software
 * one: more of them than indices of its queue have values and than the queue
 * has places, and connections that break while messages are under way. What the
 * rows of CMakeLists.txt require says that they went so.
 */
#include "tests/enq/enq.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "osu-extensions/libcuda.h"
#include "tests/enq/child.h"

enum { BATCH = 500, WORD = 8 };

/* A batch of words in memory of the GPU, and their requests. */
struct batch {
    struct enq_lane lane;
    struct enq_buffer words;
    uint64_t host[BATCH];
    MPI_Request request[BATCH];
};

static void open_batch(struct batch *batch)
{
    enq_lane_open(&batch->lane);
    enq_buffer_open(&batch->words, sizeof(batch->host));
}

static void close_batch(struct batch *batch)
{
    enq_buffer_close(&batch->words);
    enq_lane_close(&batch->lane);
}

static void send_words(struct batch *batch, int count, uint64_t first)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)batch->words.at;

    for (int i = 0; i < count; i++)
        batch->host[i] = first + (uint64_t)i;
    MGDS_CU(cuMemcpyAsync(at, (CUdeviceptr)(uintptr_t)batch->host,
                          sizeof(batch->host), batch->lane.cu));
    for (int i = 0; i < count; i++)
        ENQ_OK(MPIX_Isend_enqueue(batch->words.at + (size_t)i * WORD, WORD,
                                  MPI_BYTE, 1, 1, batch->lane.comm,
                                  &batch->request[i]));
    enq_waitall(count, batch->request);
    enq_sync(&batch->lane);
}

static void recv_words(struct batch *batch, int count, uint64_t first)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)batch->words.at;

    for (int i = 0; i < count; i++)
        ENQ_OK(MPIX_Irecv_enqueue(batch->words.at + (size_t)i * WORD, WORD,
                                  MPI_BYTE, 0, 1, batch->lane.comm,
                                  &batch->request[i]));
    enq_waitall(count, batch->request);
    MGDS_CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)batch->host, at,
                          sizeof(batch->host), batch->lane.cu));
    enq_sync(&batch->lane);
    for (int i = 0; i < count; i++)
        CHECK(batch->host[i] == first + (uint64_t)i);
}

/* Indices of WQEs have 16 bits; the ring has many laps, too. */
static void more_than_indices_count(void)
{
    enum { LAPS = 140 }; /* 70,000 words */
    struct batch batch;

    open_batch(&batch);
    for (int lap = 0; lap < LAPS; lap++) {
        if (enq.rank == 0)
            send_words(&batch, BATCH, (uint64_t)lap * BATCH);
        else if (enq.rank == 1)
            recv_words(&batch, BATCH, (uint64_t)lap * BATCH);
    }
    close_batch(&batch);
}

/* A group is one list for the stream, which comes to all of it at once. */
static void send_many(struct enq_lane *lane, struct enq_buffer *b, int count)
{
    MPI_Request *request = malloc((size_t)count * sizeof(*request));

    CHECK(request);
    ENQ_OK(MPIX_Stream_group_start(lane->stream));
    for (int i = 0; i < count; i++)
        ENQ_OK(MPIX_Isend_enqueue(b->at + i, 1, MPI_BYTE, 1, 1, lane->comm,
                                  &request[i]));
    ENQ_OK(MPIX_Stream_group_end(lane->stream));
    enq_tell(1);
    enq_waitall(count, request);
    enq_sync(lane);
    free(request);
}

static void recv_many(struct enq_lane *lane, struct enq_buffer *b, int count)
{
    enq_hear(0);
    for (int i = 0; i < count; i++)
        ENQ_OK(MPIX_Recv_enqueue(b->at + i, 1, MPI_BYTE, 0, 1, lane->comm,
                                 MPI_STATUS_IGNORE));
    enq_sync(lane);
    enq_expect(b, (size_t)count, 7);
}

static void more_than_the_queue_holds(void)
{
    enum { MANY = 5000 };
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, MANY);
    if (enq.rank == 0) {
        enq_fill(&b, 7);
        send_many(&lane, &b, MANY);
    } else if (enq.rank == 1) {
        recv_many(&lane, &b, MANY);
    }
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

/* What all devices of the job read. */
static void disturb_devices(const char *faults)
{
    const char *path = getenv("MPIX_SIM_HCA_CONTROL");
    char fresh[256];
    FILE *file;

    CHECK(path);
    snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    file = fopen(fresh, "w");
    CHECK(file && fputs(faults, file) >= 0 && fclose(file) == 0);
    CHECK(rename(fresh, path) == 0);
}

/* The error of what was enqueued since the last call. */
static int error_of(const struct enq_lane *lane)
{
    int code = MPI_SUCCESS;

    MPIX_Stream_synchronize(lane->stream, 60);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    return code;
}

/* One message: true if it came. */
static bool exchange_one(const struct enq_lane *lane, struct enq_buffer *b,
                         unsigned message)
{
    int code, came = 0;

    if (enq.rank == 0) {
        enq_fill(b, message);
        enq_send(lane, b, 1, 1);
        MPIX_Stream_synchronize(lane->stream, 60);
    } else {
        enq_wipe(b);
        enq_recv(lane, b, 0, 1, MPI_STATUS_IGNORE);
        code = error_of(lane);
        came = code == MPI_SUCCESS;
        if (came)
            enq_expect(b, b->bytes, message);
        else
            CHECK(enq_class(code) == MPI_ERR_OTHER);
    }
    ENQ_OK(MPI_Bcast(&came, 1, MPI_INT, 1, MPI_COMM_WORLD));
    return came;
}

/* Messages come until the connection breaks. The one that it breaks at fails at
 * both ends; those behind it come another way, and back, too. */
static void break_by(const char *faults)
{
    unsigned message = 1;
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&b, 3000);
    for (int i = 0; i < 3; i++)
        CHECK(exchange_one(&lane, &b, message++));
    if (enq.rank == 0)
        disturb_devices(faults);
    while (exchange_one(&lane, &b, message))
        message++;
    if (enq.rank == 0)
        CHECK(enq_class(error_of(&lane)) == MPI_ERR_OTHER);
    for (int i = 0; i < 3; i++)
        CHECK(exchange_one(&lane, &b, message++));
    if (enq.rank == 0)
        CHECK(error_of(&lane) == MPI_SUCCESS);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
    if (enq.rank == 0)
        disturb_devices("link=1\n");
}

static void the_link_is_cut(void)
{
    break_by("link=0\n");
}

static void a_key_is_wrong(void)
{
    break_by("key=100%\n");
}

/* An error that broke a message, in whose text all this is. */
static void is_told(int code, const char *what, const char *why)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    CHECK(enq_class(code) == MPI_ERR_OTHER);
    ENQ_OK(MPI_Error_string(code, text, &length));
    if (!strstr(text, what) || !strstr(text, why))
        fprintf(stderr, "the text is '%s'\n", text);
    CHECK(strstr(text, what) && strstr(text, why));
}

static void is_told_of_receive(int code)
{
    is_told(code, "from rank 0", "its sender's connection to here is broken");
}

/* The bytes of the message do not come: whoever asks for it is told so. */
static void recv_from_any(const struct enq_lane *lane, struct enq_buffer *b)
{
    int code = MPI_Recv(b->at, (int)b->bytes, MPI_BYTE, MPI_ANY_SOURCE, 1,
                        lane->comm, MPI_STATUS_IGNORE);

    is_told_of_receive(code);
}

static void recv_probed(const struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Message message;
    int code;

    ENQ_OK(MPI_Mprobe(0, 1, lane->comm, &message, MPI_STATUS_IGNORE));
    code =
        MPI_Mrecv(b->at, (int)b->bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    is_told_of_receive(code);
}

static void recv_enqueued(const struct enq_lane *lane, struct enq_buffer *b)
{
    enq_recv(lane, b, MPI_ANY_SOURCE, 1, MPI_STATUS_IGNORE);
    is_told_of_receive(error_of(lane));
}

static void send_lost(const struct enq_lane *lane, struct enq_buffer *b)
{
    enq_send(lane, b, 1, 1);
    is_told(error_of(lane), "a send to rank 1, tag 1, 3000 bytes",
            "remote access error");
}

static void pass_word(int from, int to)
{
    if (enq.rank == from)
        enq_tell(to);
    else
        enq_hear(from);
}

/* early: the receive is called before the message breaks. */
static void lose_one(void (*ask)(const struct enq_lane *, struct enq_buffer *),
                     bool early)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&b, 3000);
    if (early)
        pass_word(1, 0);
    if (enq.rank == 0)
        send_lost(&lane, &b);
    if (!early)
        pass_word(0, 1);
    if (enq.rank == 1)
        ask(&lane, &b);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

/* With devices whose WRITEs all fail. */
static void one_is_lost(void)
{
    for (int early = 0; early < 2; early++) {
        lose_one(recv_from_any, early);
        lose_one(recv_probed, early);
        lose_one(recv_enqueued, early);
    }
}

static void the_devices_die(void)
{
    break_by("die=1\n");
}

/* UCX 1.13 aborts a process whose peer dies in the middle of connecting: that
 * must be over, both ways. */
static void get_acquainted(const struct enq_lane *lane)
{
    int other = 1 - enq.rank, word = 0, got;

    for (int i = 0; i < 3; i++)
        ENQ_OK(MPI_Sendrecv(&word, 1, MPI_INT, other, 0, &got, 1, MPI_INT,
                            other, 0, lane->comm, MPI_STATUS_IGNORE));
}

/* The receiver is gone: no send of the other rank's stands, and its stream goes
 * on. */
static void the_receiver_is_killed(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    int code;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&b, 3000);
    for (unsigned i = 1; i <= 3; i++)
        CHECK(exchange_one(&lane, &b, i));
    get_acquainted(&lane);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        kill(getpid(), SIGKILL);
    }
    enq_send(&lane, &b, 1, 1);
    do {
        enq_recv(&lane, &b, 1, 2, MPI_STATUS_IGNORE);
        code = MPIX_Send_enqueue(b.at, (int)b.bytes, MPI_BYTE, 1, 1, lane.comm);
        enq_sync(&lane);
    } while (code == MPI_SUCCESS && error_of(&lane) == MPI_SUCCESS);
    printf("enq far: all well\n");
    fflush(stdout);
    _exit(0);
}

static const struct enq_case cases[] = {
    {"more_than_indices_count", 2, more_than_indices_count},
    {"more_than_the_queue_holds", 2, more_than_the_queue_holds},
    {"the_link_is_cut", 2, the_link_is_cut},
    {"a_key_is_wrong", 2, a_key_is_wrong},
    {"the_devices_die", 2, the_devices_die},
    {"one_is_lost", 2, one_is_lost},
    {"the_receiver_is_killed", 2, the_receiver_is_killed},
    {NULL, 0, NULL},
};

/* Each process opens its device later, and finds no fault of an earlier run. */
int main(int argc, char **argv)
{
    be_a_child();
    if (getenv("MPIX_SIM_HCA_CONTROL"))
        disturb_devices("link=1\n");
    return enq_main(argc, argv, "enq far", cases);
}
