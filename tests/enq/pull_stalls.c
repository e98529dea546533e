/*
 * One end does something else while the other needs it: it sits in a call of
 * the driver or of MPI, or its stream stands where nothing takes the message.
 * Its receive was called, and the stream has come there, so the message must
 * arrive, and the send must end, before anything that follows from that can.
 */
#include "tests/enq/pull.h"

enum { FIRST = 1, SECOND = 2, THIRD = 3 };

/* Two messages: rank 0's second is called behind the end of its first; rank 1
 * has called both receives and waits for the second one first. */
struct stall {
    struct enq_lane lane, other;
    struct enq_buffer a, b;
    struct enq_buffer spare; /* to be freed */
    struct enq_gate gate;
    MPI_Request request[2];
};

static void stall_open_kind(struct stall *s, enum mgds_test_kind kind)
{
    enq_lane_open(&s->lane);
    enq_lane_open(&s->other);
    enq_gate_make(&s->gate);
    enq_buffer_open(&s->a, PULL_LONG);
    enq_buffer_open_kind(&s->b, PULL_LONG, kind);
    enq_buffer_open_alone(&s->spare, 100);
    if (enq.rank == 0) {
        enq_fill(&s->a, 1);
        enq_fill(&s->b, 2);
    }
}

static void stall_open(struct stall *s)
{
    stall_open_kind(s, MGDS_TEST_DEVICE);
}

/* Waits for all that the GPU has to do. */
static void spare_free(struct stall *s)
{
    enq_buffer_close(&s->spare);
    s->spare.at = NULL;
}

static void stall_close(struct stall *s)
{
    enq_sync(&s->lane);
    enq_sync(&s->other);
    if (enq.rank < 2) {
        enq_expect(&s->a, PULL_LONG, 1);
        enq_expect(&s->b, PULL_LONG, 2);
    }
    enq_lane_close(&s->other);
    enq_lane_close(&s->lane);
    enq_gate_free(&s->gate);
    if (s->spare.at)
        spare_free(s);
    enq_buffer_close(&s->b);
    enq_buffer_close(&s->a);
}

static void both_send(struct stall *s)
{
    enq_send(&s->lane, &s->a, 1, FIRST);
    enq_send(&s->lane, &s->b, 1, SECOND);
}

static void both_receive(struct stall *s)
{
    enq_irecv(&s->lane, &s->a, 0, FIRST, &s->request[0]);
    enq_irecv(&s->lane, &s->b, 0, SECOND, &s->request[1]);
    enq_wait(&s->request[1], MPI_STATUS_IGNORE);
}

/* The program waits for its stream, which waits for the second message. */
static void receiver_sits_in_a_synchronize(void)
{
    struct stall s;

    stall_open(&s);
    if (enq.rank == 0) {
        both_send(&s);
    } else if (enq.rank == 1) {
        both_receive(&s);
        MGDS_CU(cuStreamSynchronize(s.lane.cu));
        enq_wait(&s.request[0], MPI_STATUS_IGNORE);
    }
    stall_close(&s);
}

/* While it frees something no other call of the driver comes through. */
static void sits_in_a_free(enum mgds_test_kind second)
{
    struct stall s;

    stall_open_kind(&s, second);
    if (enq.rank == 0) {
        both_send(&s);
    } else if (enq.rank == 1) {
        both_receive(&s);
        spare_free(&s);
        enq_wait(&s.request[0], MPI_STATUS_IGNORE);
    }
    stall_close(&s);
}

static void receiver_sits_in_a_free(void)
{
    if (!enq_frees_alone())
        sits_in_a_free(MGDS_TEST_DEVICE);
}

/* The second one is staged: the stream waits for the CPU. */
static void receiver_of_staged_sits_in_a_free(void)
{
    sits_in_a_free(MGDS_TEST_PINNED);
}

static void sender_sits_in_a_free(void)
{
    struct stall s;

    stall_open(&s);
    if (enq.rank == 0) {
        both_send(&s);
        enq_tell(1);
        spare_free(&s);
    } else if (enq.rank == 1) {
        enq_hear(0);
        enq_irecv(&s.lane, &s.a, 0, FIRST, &s.request[0]);
        enq_irecv(&s.lane, &s.b, 0, SECOND, &s.request[1]);
        for (int i = 0; i < 2; i++)
            ENQ_OK(MPI_Wait(&s.request[i], MPI_STATUS_IGNORE));
    }
    stall_close(&s);
}

/* Both free something while their streams wait for each other's messages. */
static void both_sit_in_a_free(void)
{
    struct stall s;

    if (enq_frees_alone())
        return;
    stall_open(&s);
    if (enq.rank == 0)
        both_send(&s);
    else if (enq.rank == 1)
        both_receive(&s);
    spare_free(&s);
    if (enq.rank == 1)
        enq_wait(&s.request[0], MPI_STATUS_IGNORE);
    stall_close(&s);
}

/* No wait is called: the first message is over when the sender's stream says
 * so, and only then does rank 0 come to the barrier. */
static void receiver_sits_in_a_barrier(void)
{
    struct stall s;

    stall_open(&s);
    if (enq.rank == 0) {
        both_send(&s);
        enq_sync(&s.lane);
    } else if (enq.rank == 1) {
        enq_irecv(&s.lane, &s.a, 0, FIRST, &s.request[0]);
        enq_irecv(&s.lane, &s.b, 0, SECOND, &s.request[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (enq.rank == 1)
        enq_waitall(2, s.request);
    stall_close(&s);
}

/* The receiver's stream stands behind its calls, for something that comes when
 * the sends are over. */
static void receiver_stands_elsewhere(void)
{
    struct stall s;

    stall_open(&s);
    if (enq.rank == 0) {
        both_send(&s);
        enq_sync(&s.lane);
        enq_tell(1);
    } else if (enq.rank == 1) {
        enq_irecv(&s.lane, &s.a, 0, FIRST, &s.request[0]);
        enq_irecv(&s.lane, &s.b, 0, SECOND, &s.request[1]);
        enq_gate_hold(&s.gate, s.lane.cu);
        enq_waitall(2, s.request);
        enq_hear(0);
        enq_gate_open(&s.gate);
    }
    stall_close(&s);
}

/* Its stream stands behind its calls in a receive of ours, for a message that
 * is sent when the sends are over. */
static void receiver_stands_in_another_receive(void)
{
    struct enq_buffer last;
    struct stall s;

    stall_open(&s);
    enq_buffer_open(&last, PULL_LONG);
    if (enq.rank == 0) {
        enq_fill(&last, 3);
        both_send(&s);
        enq_sync(&s.lane);
        enq_send(&s.lane, &last, 1, THIRD);
    } else if (enq.rank == 1) {
        enq_irecv(&s.lane, &s.a, 0, FIRST, &s.request[0]);
        enq_irecv(&s.lane, &s.b, 0, SECOND, &s.request[1]);
        enq_recv(&s.lane, &last, 0, THIRD, MPI_STATUS_IGNORE);
        enq_waitall(2, s.request);
        enq_sync(&s.lane);
        enq_expect(&last, PULL_LONG, 3);
    }
    stall_close(&s);
    enq_buffer_close(&last);
}

/* The sender's stream goes on behind its Isend to something that comes when the
 * receiver has it; nobody at the sender waits for the send until then. */
static void sender_stands_elsewhere(void)
{
    struct stall s;

    stall_open(&s);
    if (enq.rank == 0) {
        enq_isend(&s.lane, &s.a, 1, FIRST, &s.request[0]);
        enq_isend(&s.lane, &s.b, 1, SECOND, &s.request[1]);
        enq_gate_hold(&s.gate, s.lane.cu);
        enq_hear(1);
        enq_gate_open(&s.gate);
        enq_waitall(2, s.request);
    } else if (enq.rank == 1) {
        enq_recv(&s.lane, &s.a, 0, FIRST, MPI_STATUS_IGNORE);
        enq_recv(&s.lane, &s.b, 0, SECOND, MPI_STATUS_IGNORE);
        enq_sync(&s.lane);
        enq_tell(0);
    }
    stall_close(&s);
}

/* Each waits in the driver for its send, which ends when the other's receive
 * has the message; nobody waits for the receives yet. */
static void both_sit_in_a_synchronize(void)
{
    struct stall s;

    stall_open(&s);
    if (enq.rank < 2) {
        struct enq_buffer *out = enq.rank ? &s.b : &s.a;
        struct enq_buffer *in = enq.rank ? &s.a : &s.b;

        enq_fill(out, (unsigned)enq.rank + 1);
        enq_wipe(in);
        enq_irecv(&s.lane, in, 1 - enq.rank, FIRST, &s.request[0]);
        enq_send(&s.lane, out, 1 - enq.rank, FIRST);
        MGDS_CU(cuStreamSynchronize(s.lane.cu));
        enq_wait(&s.request[0], MPI_STATUS_IGNORE);
    }
    stall_close(&s);
}

const struct enq_case pull_stall_cases[] = {
    {"receiver_sits_in_a_synchronize", 2, receiver_sits_in_a_synchronize},
    {"receiver_sits_in_a_free", 2, receiver_sits_in_a_free},
    {"receiver_of_staged_sits_in_a_free", 2, receiver_of_staged_sits_in_a_free},
    {"sender_sits_in_a_free", 2, sender_sits_in_a_free},
    {"both_sit_in_a_free", 2, both_sit_in_a_free},
    {"receiver_sits_in_a_barrier", 2, receiver_sits_in_a_barrier},
    {"receiver_stands_elsewhere", 2, receiver_stands_elsewhere},
    {"receiver_stands_in_another_receive", 2,
     receiver_stands_in_another_receive},
    {"sender_stands_elsewhere", 2, sender_stands_elsewhere},
    {"both_sit_in_a_synchronize", 2, both_sit_in_a_synchronize},
    {0},
};
