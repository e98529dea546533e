/* Who matches whom: wildcards, self, plain calls, probes, early messages. */
#include "tests/enq/enq.h"

#include <string.h>

/* Messages of R0 and R2 to R1: different sizes, so that a status tells. */
struct arrival {
    struct enq_buffer buffer;
    MPI_Status status;
};

static const size_t arrival_bytes[] = {0, 100, 5000, 70000};

/* The bytes of an arrival are those of the message that its status names. */
static int arrival_message(struct arrival *arrival, int tag)
{
    int source = arrival->status.MPI_SOURCE;
    int bytes = -1;

    ENQ_OK(MPI_Get_count(&arrival->status, MPI_BYTE, &bytes));
    for (int message = 1; message < 4; message++) {
        if ((size_t)bytes != arrival_bytes[message])
            continue;
        enq_status_is(&arrival->status, message == 3 ? 2 : 0, tag,
                      arrival_bytes[message]);
        CHECK(source == arrival->status.MPI_SOURCE);
        enq_expect(&arrival->buffer, arrival_bytes[message], (unsigned)message);
        return message;
    }
    return -1;
}

static void send_one(const struct enq_lane *lane, int message)
{
    struct enq_buffer b;

    enq_buffer_open(&b, arrival_bytes[message]);
    enq_fill(&b, (unsigned)message);
    enq_send(lane, &b, 1, 7);
    enq_sync(lane);
    enq_buffer_close(&b);
}

/* The wildcard comes first; behind it one that only R0 can serve. */
static void receive_three(const struct enq_lane *lane)
{
    static const int from[] = {MPI_ANY_SOURCE, 0, MPI_ANY_SOURCE};
    struct arrival arrivals[3];
    int seen = 0;
    int last = 0;

    for (int i = 0; i < 3; i++) {
        enq_buffer_open(&arrivals[i].buffer, 70000);
        memset(&arrivals[i].status, 0xff, sizeof(arrivals[i].status));
        enq_recv(lane, &arrivals[i].buffer, from[i], 7, &arrivals[i].status);
    }
    enq_sync(lane);
    for (int i = 0; i < 3; i++) {
        int message = arrival_message(&arrivals[i], 7);

        CHECK(message > 0);
        CHECK(from[i] == MPI_ANY_SOURCE || message < 3);
        CHECK(message == 3 || message > last);
        last = message == 3 ? last : message;
        seen |= 1 << message;
        enq_buffer_close(&arrivals[i].buffer);
    }
    CHECK(seen == 0xe);
}

static void any_source(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 10 + 1; lap++) {
        if (enq.rank == 0) {
            send_one(&lane, 1);
            send_one(&lane, 2);
        } else if (enq.rank == 1) {
            receive_three(&lane);
        } else if (enq.rank == 2) {
            send_one(&lane, 3);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    enq_lane_close(&lane);
}

/* R0's send was called first, but its stream stands: R2's is taken. */
static void any_source_takes_what_is_reached(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 4096);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_gate_hold(&gate, lane.cu);
        enq_send(&lane, &b, 1, 7);
        enq_tell(2);
        enq_hear(1);
        enq_gate_open(&gate);
    } else if (enq.rank == 2) {
        enq_hear(0);
        enq_fill(&b, 3);
        enq_send(&lane, &b, 1, 7);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, MPI_ANY_SOURCE, 7, &status);
        enq_sync(&lane);
        enq_status_is(&status, 2, 7, 4096);
        enq_expect(&b, 4096, 3);
        enq_wipe(&b);
        enq_recv(&lane, &b, MPI_ANY_SOURCE, 7, &status);
        enq_tell(0);
        enq_sync(&lane);
        enq_status_is(&status, 0, 7, 4096);
        enq_expect(&b, 4096, 1);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* All from R0 in the order of its calls: the wildcard was posted first, so the
 * first message is its, whatever the streams do meanwhile. */
static void a_wildcard_comes_before_later_receives(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b[2];
    MPI_Status status[2];

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_gate_hold(&gate, lane.cu);
    for (int i = 0; i < 2; i++) {
        enq_buffer_open(&b[i], 5000);
        if (enq.rank == 1)
            enq_recv(&lane, &b[i], i == 0 ? MPI_ANY_SOURCE : 0, 7, &status[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2 && enq.rank == 0; i++) {
        enq_fill(&b[i], (unsigned)i + 1);
        enq_send(&lane, &b[i], 1, 7);
    }
    enq_gate_open(&gate);
    enq_sync(&lane);
    for (int i = 0; i < 2; i++) {
        if (enq.rank == 1) {
            enq_status_is(&status[i], 0, 7, 5000);
            enq_expect(&b[i], 5000, (unsigned)i + 1);
        }
        enq_buffer_close(&b[i]);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
}

/* What a program promises by info keys may be used; nothing else changes. */
static void asserts(void)
{
    static const char *const keys[] = {
        "mpi_assert_no_any_source", "mpi_assert_no_any_tag",
        "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Status status;
    MPI_Info info;

    ENQ_OK(MPI_Info_create(&info));
    for (int i = 0; i < 4; i++)
        ENQ_OK(MPI_Info_set(info, keys[i], "true"));
    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_info(lane.comm, info));
    ENQ_OK(MPI_Info_free(&info));
    enq_buffer_open(&b, 70000);
    for (int tag = 1; tag < 5; tag++) {
        if (enq.rank == 0) {
            enq_fill(&b, (unsigned)tag);
            enq_send(&lane, &b, 1, tag);
        } else if (enq.rank == 1) {
            enq_recv(&lane, &b, 0, tag, &status);
        }
        enq_sync(&lane);
        if (enq.rank == 1) {
            enq_status_is(&status, 0, tag, 70000);
            enq_expect(&b, 70000, (unsigned)tag);
        }
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

static void any_tag(void)
{
    struct enq_lane lane;
    struct enq_buffer b[3];
    MPI_Status status[3];

    enq_lane_open(&lane);
    for (int i = 0; i < 3; i++) {
        enq_buffer_open(&b[i], 1000);
        if (enq.rank == 0) {
            enq_fill(&b[i], (unsigned)i + 1);
            enq_send(&lane, &b[i], 1, 50 - i);
        } else if (enq.rank == 1) {
            enq_recv(&lane, &b[i], 0, MPI_ANY_TAG, &status[i]);
        }
    }
    enq_sync(&lane);
    for (int i = 0; i < 3; i++) {
        if (enq.rank == 1) {
            enq_status_is(&status[i], 0, 50 - i, 1000);
            enq_expect(&b[i], 1000, (unsigned)i + 1);
        }
        enq_buffer_close(&b[i]);
    }
    enq_lane_close(&lane);
}

/* Both orders of the calls; order 2 is the blocking form. */
static void to_self(const struct enq_lane *lane, size_t bytes, int order)
{
    struct enq_buffer a, b;
    MPI_Request requests[2];

    enq_buffer_open(&a, bytes);
    enq_buffer_open(&b, bytes);
    enq_fill(&a, 1);
    if (order == 0)
        enq_irecv(lane, &b, enq.rank, 1, &requests[0]);
    if (order < 2)
        enq_isend(lane, &a, enq.rank, 1, &requests[1]);
    if (order == 1)
        enq_irecv(lane, &b, enq.rank, 1, &requests[0]);
    if (order == 2) {
        enq_send(lane, &a, enq.rank, 1);
        enq_recv(lane, &b, enq.rank, 1, MPI_STATUS_IGNORE);
    } else {
        enq_wait(&requests[order], MPI_STATUS_IGNORE);
        enq_wait(&requests[1 - order], MPI_STATUS_IGNORE);
    }
    enq_sync(lane);
    enq_expect(&b, bytes, 1);
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

static void self_send(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++) {
        to_self(&lane, *size, 0);
        to_self(&lane, *size, 1);
    }
    to_self(&lane, ENQ_SMALL, 2);
    to_self(&lane, ENQ_LARGE, 2);
    enq_lane_close(&lane);
}

/* R1 has no stream. Memory of either kind at its end. */
static void plain_receives(const struct enq_lane *lane, size_t bytes,
                           enum mgds_test_kind kind)
{
    struct enq_buffer b;
    MPI_Status status;

    enq_buffer_open_kind(&b, bytes, enq.rank == 0 ? MGDS_TEST_DEVICE : kind);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(lane, &b, 1, 1);
        enq_sync(lane);
        enq_wipe(&b);
        enq_recv(lane, &b, 1, 2, &status);
        enq_sync(lane);
        enq_status_is(&status, 1, 2, bytes);
        enq_expect(&b, bytes, 2);
    } else if (enq.rank == 1) {
        ENQ_OK(MPI_Recv(b.at, (int)bytes, MPI_BYTE, 0, 1, lane->comm, &status));
        enq_status_is(&status, 0, 1, bytes);
        enq_expect(&b, bytes, 1);
        enq_fill(&b, 2);
        ENQ_OK(MPI_Send(b.at, (int)bytes, MPI_BYTE, 0, 2, lane->comm));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    enq_buffer_close(&b);
}

static void plain_and_enqueued(void)
{
    struct enq_lane lane;

    enq_lane_open_as(&lane, enq.rank == 0);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++) {
        plain_receives(&lane, *size, MGDS_TEST_HOST);
        plain_receives(&lane, *size, MGDS_TEST_DEVICE);
    }
    enq_lane_close(&lane);
}

static void probe_until(MPI_Comm comm, MPI_Status *status)
{
    int flag = 0;

    while (!flag)
        ENQ_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, status));
}

static void improbe_until(MPI_Comm comm, MPI_Message *message)
{
    MPI_Status status;
    int flag = 0;

    while (!flag)
        ENQ_OK(MPI_Improbe(0, 3, comm, &flag, message, &status));
    enq_status_is(&status, 0, 3, 3000);
}

/* Three messages, each seen by another probe, from a stream or from none. */
static void probes(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Message message;
    MPI_Status status;

    enq_lane_open_as(&lane, enq.rank == 0);
    enq_buffer_open(&b, 3000);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        for (int tag = 1; tag <= 3; tag++)
            enq_send(&lane, &b, 1, tag);
    } else if (enq.rank == 1) {
        probe_until(lane.comm, &status);
        enq_status_is(&status, 0, 1, 3000);
        ENQ_OK(MPI_Recv(b.at, 3000, MPI_BYTE, 0, 1, lane.comm, &status));
        enq_expect(&b, 3000, 1);
        enq_wipe(&b);
        ENQ_OK(MPI_Mprobe(0, 2, lane.comm, &message, &status));
        ENQ_OK(MPI_Mrecv(b.at, 3000, MPI_BYTE, &message, &status));
        enq_status_is(&status, 0, 2, 3000);
        enq_expect(&b, 3000, 1);
        enq_wipe(&b);
        improbe_until(lane.comm, &message);
        ENQ_OK(MPI_Mrecv(b.at, 3000, MPI_BYTE, &message, &status));
        enq_expect(&b, 3000, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* A probe sees a send once its stream has come to it, not at its call. */
static void probe_sees_what_is_reached(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Status status;
    int flag = 1;

    enq_lane_open_as(&lane, enq.rank == 0);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 512);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_gate_hold(&gate, lane.cu);
        enq_send(&lane, &b, 1, 1);
        enq_tell(1);
        enq_hear(1);
        enq_gate_open(&gate);
    } else if (enq.rank == 1) {
        enq_hear(0);
        for (int i = 0; i < 1000; i++) {
            ENQ_OK(MPI_Iprobe(0, 1, lane.comm, &flag, &status));
            CHECK(!flag);
        }
        enq_tell(0);
        ENQ_OK(MPI_Probe(0, 1, lane.comm, &status));
        enq_status_is(&status, 0, 1, 512);
        ENQ_OK(MPI_Recv(b.at, 512, MPI_BYTE, 0, 1, lane.comm, &status));
        enq_expect(&b, 512, 1);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* Not complete before the peer has called its receive. */
static void ssend_waits_for_the_receive(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;
    int flag = 1;

    enq_lane_open_as(&lane, enq.rank == 0);
    enq_buffer_open(&b, 512);
    if (enq.rank == 1) {
        enq_fill(&b, 1);
        ENQ_OK(MPI_Issend(b.at, 512, MPI_BYTE, 0, 1, lane.comm, &request));
        for (int i = 0; i < 1000; i++) {
            ENQ_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        enq_tell(0);
        ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (enq.rank == 0) {
        enq_hear(1);
        enq_recv(&lane, &b, 1, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, 512, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* Nor before the peer's stream has come to it. */
static void ssend_waits_for_the_stream(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Request request;
    int flag = 1;

    enq_lane_open_as(&lane, enq.rank == 0);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 512);
    if (enq.rank == 0) {
        enq_gate_hold(&gate, lane.cu);
        enq_recv(&lane, &b, 1, 1, MPI_STATUS_IGNORE);
        enq_tell(1);
        enq_hear(1);
        enq_gate_open(&gate);
        enq_sync(&lane);
        enq_expect(&b, 512, 1);
    } else if (enq.rank == 1) {
        enq_fill(&b, 1);
        enq_hear(0);
        ENQ_OK(MPI_Issend(b.at, 512, MPI_BYTE, 0, 1, lane.comm, &request));
        for (int i = 0; i < 1000; i++) {
            ENQ_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        enq_tell(0);
        ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* R0 sends at once after the collective call; R1 may still be inside it. */
static void early_message(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_buffer_open(&b, 512);
    for (int lap = 0; lap < enq.laps; lap++) {
        enq_lane_open(&lane);
        if (enq.rank == lap % 2) {
            enq_fill(&b, (unsigned)lap + 1);
            enq_send(&lane, &b, 1 - enq.rank, 1);
            enq_sync(&lane);
        } else if (enq.rank < 2) {
            enq_wipe(&b);
            enq_recv(&lane, &b, 1 - enq.rank, 1, MPI_STATUS_IGNORE);
            enq_sync(&lane);
            enq_expect(&b, 512, (unsigned)lap + 1);
        }
        enq_lane_close(&lane);
    }
    enq_buffer_close(&b);
}

/* Nobody receives R0's message until the collective is over, which is matched
 * with no message and no wildcard. */
static void collective_beside_a_send(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;

    enq_lane_open(&lane);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++) {
        int sum = 0;

        enq_buffer_open(&b, *size);
        if (enq.rank == 0) {
            enq_fill(&b, 1);
            enq_isend(&lane, &b, 1, 0, &request);
        }
        ENQ_OK(MPI_Allreduce(&(int){enq.rank + 1}, &sum, 1, MPI_INT, MPI_SUM,
                             lane.comm));
        CHECK(sum == enq.size * (enq.size + 1) / 2);
        if (enq.rank == 1) {
            enq_recv(&lane, &b, MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
            enq_sync(&lane);
            enq_status_is(&status, 0, 0, *size);
            enq_expect(&b, *size, 1);
        }
        enq_wait(&request, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_buffer_close(&b);
    }
    enq_lane_close(&lane);
}

/* R1 gave no stream, and has posted a receive of anything before. */
static void collective_beside_a_wildcard(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int sum = 0;

    enq_lane_open_as(&lane, enq.rank != 1);
    enq_buffer_open(&b, ENQ_SMALL);
    if (enq.rank == 1)
        ENQ_OK(MPI_Irecv(b.at, (int)b.bytes, MPI_BYTE, MPI_ANY_SOURCE,
                         MPI_ANY_TAG, lane.comm, &request));
    ENQ_OK(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, lane.comm));
    CHECK(sum == enq.size);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 3);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        ENQ_OK(MPI_Wait(&request, &status));
        enq_status_is(&status, 0, 3, ENQ_SMALL);
        enq_expect(&b, ENQ_SMALL, 1);
    }
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case06_any_source", 3, any_source},
        {"case06_any_source_takes_what_is_reached", 3,
         any_source_takes_what_is_reached},
        {"case06_a_wildcard_comes_before_later_receives", 2,
         a_wildcard_comes_before_later_receives},
        {"case06_asserts", 2, asserts},
        {"case06_any_tag", 2, any_tag},
        {"case07_self_send", 1, self_send},
        {"case08_plain_and_enqueued", 2, plain_and_enqueued},
        {"case08_probes", 2, probes},
        {"case08_probe_sees_what_is_reached", 2, probe_sees_what_is_reached},
        {"case08_ssend_waits_for_the_receive", 2, ssend_waits_for_the_receive},
        {"case08_ssend_waits_for_the_stream", 2, ssend_waits_for_the_stream},
        {"case14_early_message", 2, early_message},
        {"case32_collective_beside_a_send", 2, collective_beside_a_send},
        {"case32_collective_beside_a_wildcard", 2,
         collective_beside_a_wildcard},
        {0},
    };

    return enq_main(argc, argv, "enq match", cases);
}
