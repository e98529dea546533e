/*
 * No silence: what stands is named by the watchdog, by a signal, and by
 * MPIX_Stream_dump. Each case is a run of its own, whose row says how long the
 * watchdog waits.
 */
#include "tests/enq/d9_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Both receive first: nothing ends that but the job. */
static void both_receive_first(void)
{
    struct enq_lane lane;
    struct enq_buffer in, out;
    char pattern[256];
    int peer = 1 - enq.rank;

    open_named(&lane, &in, BYTES);
    enq_buffer_open(&out, BYTES);
    enq_recv(&lane, &in, peer, TAG, MPI_STATUS_IGNORE);
    enq_send(&lane, &out, peer, TAG);
    snprintf(pattern, sizeof(pattern),
             STANDS "receive from rank %d, tag 7, 4096 bytes" COMM
                    "the stream of rank %d has not come to the send$",
             peer, peer);
    await(pattern, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 5);
}

/* Named after a time, again after ten times that, and then it goes on. */
static void named_again(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    open_named(&lane, &b, BYTES);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        await(STANDS "receive from rank 0, tag 7, 4096 bytes" COMM
                     "no message from rank 0 has come$",
              2);
        enq_tell(0);
    } else {
        enq_hear(1);
        enq_send(&lane, &b, 1, TAG);
    }
    close_both(&lane, &b);
}

/* From anybody, with any tag, on a communicator without a name. */
static void from_anybody(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, BYTES);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_STATUS_IGNORE);
        await(STANDS "receive from any rank, any tag, 4096 bytes, "
                     "communicator without a name: "
                     "no message from any rank has come$",
              1);
        enq_tell(0);
    } else {
        enq_hear(1);
        enq_send(&lane, &b, 1, TAG);
    }
    close_both(&lane, &b);
}

/* Host memory, which nobody may read later than its wait. */
static void send_without_receive(void)
{
    struct enq_lane lane;
    struct enq_buffer b, host;

    open_named(&lane, &b, ENQ_LARGE);
    enq_buffer_open_kind(&host, ENQ_LARGE, MGDS_TEST_HOST);
    if (enq.rank == 0) {
        enq_send(&lane, &host, 1, TAG);
        await(STANDS "send to rank 1, tag 7, 1048576 bytes" COMM
                     "rank 1 has not posted the receive, or its stream has not "
                     "come to that$",
              1);
        enq_tell(1);
    } else {
        enq_hear(0);
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
    }
    close_both(&lane, &b);
    enq_buffer_close(&host);
}

/* The stream of the operation has not come to it, that of the wait stands. */
static void other_stream_is_behind(void)
{
    struct enq_lane lane, other;
    struct enq_buffer a, b;
    struct enq_gate gate;
    MPI_Request requests[2];

    open_named(&lane, &a, BYTES);
    enq_lane_open(&other);
    enq_buffer_open(&b, BYTES);
    enq_gate_make(&gate);
    if (enq.rank == 1) {
        enq_irecv(&other, &b, 0, TAG, &requests[0]);
        enq_gate_hold(&gate, lane.cu);
        enq_irecv(&lane, &a, 0, TAG, &requests[1]);
        enq_waitall(2, requests);
        await(STANDS "receive from rank 0, tag 7, 4096 bytes" COMM
                     "the stream of the receive, 0x[0-9a-f]+, has not come to "
                     "it$",
              1);
        enq_gate_open(&gate);
    } else {
        enq_send(&other, &b, 1, TAG);
        enq_send(&lane, &a, 1, TAG);
    }
    close_both(&lane, &a);
    close_both(&other, &b);
    enq_gate_free(&gate);
}

/* Work of the program ahead of a wait is no alarm, however long it takes: a
 * stream that came later to its own is named twice meanwhile. */
static void long_kernel_is_no_alarm(void)
{
    struct enq_lane lane, other;
    struct enq_buffer a, b;
    struct enq_gate gate;

    open_named(&lane, &a, BYTES);
    enq_lane_open(&other);
    enq_buffer_open(&b, BYTES);
    enq_gate_make(&gate);
    if (enq.rank == 1) {
        enq_gate_hold(&gate, lane.cu);
        enq_recv(&lane, &a, 0, TAG, MPI_STATUS_IGNORE);
        enq_recv(&other, &b, 0, 2, MPI_STATUS_IGNORE);
        await(STANDS "receive from rank 0, tag 2, 4096 bytes, communicator "
                     "without a name: no message from rank 0 has come$",
              2);
        CHECK(count("tag 7") == 0);
        enq_gate_open(&gate);
        await(STANDS "receive from rank 0, tag 7, 4096 bytes" COMM
                     "no message from rank 0 has come$",
              1);
        enq_tell(0);
    } else {
        enq_hear(1);
        enq_send(&lane, &a, 1, TAG);
        enq_send(&other, &b, 1, 2);
    }
    close_both(&lane, &a);
    close_both(&other, &b);
    enq_gate_free(&gate);
}

/* Receives that nobody sends for, and a wait for all. */
static void stand_at(struct enq_lane *lane, struct enq_buffer *b, int receives)
{
    MPI_Request requests[64];

    for (int i = 0; i < receives; i++)
        ENQ_OK(MPIX_Irecv_enqueue(b->at + (ptrdiff_t)16 * i, 16, MPI_BYTE, 0, i,
                                  lane->comm, &requests[i]));
    enq_waitall(receives, requests);
}

static void serve(struct enq_lane *lane, struct enq_buffer *b, int to,
                  int receives)
{
    for (int i = 0; i < receives; i++)
        ENQ_OK(MPIX_Send_enqueue(b->at, 16, MPI_BYTE, to, i, lane->comm));
}

/* Four lines of a process, and a total. */
static void four_lines_and_a_total(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    open_named(&lane, &b, BYTES);
    if (enq.rank == 1) {
        stand_at(&lane, &b, 41);
        await(WHO "and 37 more$", 1);
        CHECK(count(STANDS "receive from rank 0, tag [0-9]+, 16 bytes" COMM) ==
              4);
        enq_tell(0);
    } else {
        enq_hear(1);
        serve(&lane, &b, 1, 41);
    }
    close_both(&lane, &b);
}

/* The last "and N more in the processes of this host" and those before. */
static int owed(void)
{
    const char *at = book_text();
    int sum = 0;

    while ((at = strstr(at, "warn: and ")) != NULL) {
        char *end;
        long more = strtol(at + strlen("warn: and "), &end, 10);

        if (strncmp(end, " more in the processes of this host\n", 36) == 0)
            sum += (int)more;
        at = end;
    }
    return sum;
}

/* Sixteen of a host, of processes that have four each, and a total. */
static void sixteen_lines_of_a_host(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    int mine[2], all[2];

    open_named(&lane, &b, BYTES);
    if (enq.rank > 0)
        stand_at(&lane, &b, 4);
    do {
        mine[1] = owed();
        mine[0] = count(" stands for ");
        ENQ_OK(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    } while (all[0] + all[1] < 4 * (enq.size - 1));
    CHECK(all[0] == 16 && all[1] == 4 * (enq.size - 1) - 16);
    if (enq.rank == 0)
        for (int to = 1; to < enq.size; to++)
            serve(&lane, &b, to, 4);
    close_both(&lane, &b);
}

/* Calls of the host. */

/* A second thread, which sends word when the lines are there. */
struct helper {
    pthread_t thread;
    const char *pattern;
};

static void *help(void *arg)
{
    struct helper *helper = arg;

    await(helper->pattern, 1);
    enq_tell(0);
    return NULL;
}

static void helper_start(struct helper *helper, const char *pattern)
{
    helper->pattern = pattern;
    CHECK(pthread_create(&helper->thread, NULL, help, helper) == 0);
}

static void call_recv(struct enq_lane *lane, struct enq_buffer *b)
{
    ENQ_OK(MPI_Recv(b->at, BYTES, MPI_BYTE, 0, TAG, lane->comm,
                    MPI_STATUS_IGNORE));
}

static void call_wait(struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request request;

    ENQ_OK(MPI_Irecv(b->at, BYTES, MPI_BYTE, 0, TAG, lane->comm, &request));
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void call_waitany(struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request request;
    int index;

    ENQ_OK(MPI_Irecv(b->at, BYTES, MPI_BYTE, 0, TAG, lane->comm, &request));
    ENQ_OK(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
}

static void call_probe(struct enq_lane *lane, struct enq_buffer *b)
{
    ENQ_OK(MPI_Probe(0, TAG, lane->comm, MPI_STATUS_IGNORE));
    call_recv(lane, b);
}

static void call_synchronize(struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request request;

    enq_irecv(lane, b, 0, TAG, &request);
    ENQ_OK(MPIX_Stream_synchronize(lane->stream, 0));
    enq_wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
    void (*call)(struct enq_lane *lane, struct enq_buffer *b);
    const char *pattern;
} calls[] = {
    {call_recv, WHO "MPI_Recv" SECONDS RECEIVE},
    {call_wait, WHO "MPI_Wait" SECONDS RECEIVE},
    {call_waitany, WHO "MPI_Waitany" SECONDS RECEIVE},
    {call_probe, WHO "MPI_Probe" SECONDS "probe of rank 0, tag 7" COMM
                     "no message from rank 0 has come$"},
    {call_synchronize, WHO "MPIX_Stream_synchronize" SECONDS RECEIVE},
};

static void host_calls(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    open_named(&lane, &b, BYTES);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct helper helper;

        if (enq.rank == 1) {
            helper_start(&helper, calls[i].pattern);
            calls[i].call(&lane, &b);
            CHECK(pthread_join(helper.thread, NULL) == 0);
        } else {
            enq_hear(1);
            enq_send(&lane, &b, 1, TAG);
        }
    }
    close_both(&lane, &b);
}

/* Calls that pass through are none of ours, whatever they wait for. */
static void passing_calls(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    struct helper helper;

    open_named(&lane, &b, BYTES);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        helper_start(&helper, STANDS RECEIVE);
        ENQ_OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        CHECK(pthread_join(helper.thread, NULL) == 0);
        CHECK(count("MPI_Recv") == 0);
    } else {
        enq_hear(1);
        ENQ_OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        enq_send(&lane, &b, 1, TAG);
    }
    close_both(&lane, &b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"both_receive_first", 2, both_receive_first},
        {"named_again", 2, named_again},
        {"from_anybody", 2, from_anybody},
        {"send_without_receive", 2, send_without_receive},
        {"other_stream_is_behind", 2, other_stream_is_behind},
        {"long_kernel_is_no_alarm", 2, long_kernel_is_no_alarm},
        {"four_lines_and_a_total", 2, four_lines_and_a_total},
        {"sixteen_lines_of_a_host", 6, sixteen_lines_of_a_host},
        {"host_calls", 2, host_calls},
        {"passing_calls", 2, passing_calls},
        {"dumped_by_signal", 2, dumped_by_signal},
        {"dumped_by_call", 2, dumped_by_call},
        {"dumps_of_nothing", 2, dumps_of_nothing},
        {NULL, 0, NULL}};

    handler_set();
    book_open();
    return enq_main(argc, argv, "enq d9_watch", cases);
}
