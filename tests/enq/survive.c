/*
 * One of three processes is killed while streams stand: the other two go on
 * with right data, hear of it once, and later calls to it fail. Each case is a
 * run of its own, under mpiexec.mpich -disable-auto-cleanup: rank 2 kills
 * itself, and rank 0 says when all went well.
 */
#include "tests/enq/survive.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/enq/child.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void die(void)
{
    kill(getpid(), SIGKILL);
}

/* UCX 1.13 aborts a process whose peer dies in the middle of connecting: that
 * must be over, all ways. */
static void get_acquainted(const struct enq_lane *lane)
{
    int word = 0, got;

    for (int lap = 0; lap < 3; lap++)
        for (int peer = 0; peer < enq.size; peer++)
            if (peer != enq.rank)
                ENQ_OK(MPI_Sendrecv(&word, 1, MPI_INT, peer, 0, &got, 1,
                                    MPI_INT, peer, 0, lane->comm,
                                    MPI_STATUS_IGNORE));
}

/* A send that went into memory of ours lets the stream go on at once, and fails
 * later. */
void expect_failed_within(const struct enq_lane *lane, double seconds)
{
    int code = MPI_SUCCESS, rc;
    double begin = now();

    do
        rc = enq_class(MPIX_Stream_synchronize(lane->stream, 2 * seconds));
    while (rc == MPI_SUCCESS && now() - begin < seconds);
    CHECK(rc == MPI_ERR_OTHER);
    CHECK(now() - begin < seconds);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(enq_class(code) == MPI_ERR_OTHER);
}

void expect_failed_once(const struct enq_lane *lane)
{
    expect_failed_within(lane, SECONDS);
}

void expect_well(const struct enq_lane *lane)
{
    int code = MPI_ERR_OTHER;

    ENQ_OK(MPIX_Stream_synchronize(lane->stream, 10 * SECONDS));
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(code == MPI_SUCCESS);
}

/* The receiver's stream stands when the sender's comes to the message. */
static void living_go_on_with(const struct enq_lane *lane, size_t bytes,
                              unsigned message)
{
    struct enq_buffer b;
    struct enq_gate gate;
    MPI_Request request;

    enq_buffer_open(&b, bytes);
    enq_gate_make(&gate);
    if (enq.rank == 1) {
        enq_fill(&b, message);
        enq_gate_hold(&gate, lane->cu);
        enq_isend(lane, &b, 0, TAG_ALIVE, &request);
        enq_tell(0);
        enq_hear(0);
        enq_gate_open(&gate);
        ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        enq_hear(0);
    } else {
        enq_hear(1);
        enq_recv(lane, &b, 1, TAG_ALIVE, MPI_STATUS_IGNORE);
        enq_tell(1);
        expect_well(lane);
        enq_expect(&b, bytes, message);
        enq_tell(1);
    }
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

void living_go_on(const struct enq_lane *lane)
{
    for (unsigned lap = 1; lap <= 3; lap++) {
        living_go_on_with(lane, ENQ_SMALL, 3 * lap);
        living_go_on_with(lane, 100000, 3 * lap + 1);
        living_go_on_with(lane, ENQ_LARGE, 3 * lap + 2);
    }
}

/* What comes when it is known fails at once, whatever it is. */
void later_calls_fail(const struct enq_lane *lane)
{
    MPI_Status status;
    double begin = now();
    struct enq_buffer b;
    int word = 0, flag;

    CHECK(MPI_Send(&word, 1, MPI_INT, DEAD, 1, lane->comm) != MPI_SUCCESS);
    CHECK(MPI_Recv(&word, 1, MPI_INT, DEAD, 1, lane->comm, &status) !=
          MPI_SUCCESS);
    CHECK(MPI_Iprobe(DEAD, 1, lane->comm, &flag, &status) != MPI_SUCCESS);
    enq_buffer_open(&b, ENQ_SMALL);
    enq_recv(lane, &b, DEAD, 1, MPI_STATUS_IGNORE);
    expect_failed_once(lane);
    enq_send(lane, &b, DEAD, 1);
    expect_failed_once(lane);
    enq_buffer_close(&b);
    CHECK(now() - begin < SECONDS);
}

void go_on(const struct enq_lane *lane)
{
    living_go_on(lane);
    if (enq.rank == 0)
        later_calls_fail(lane);
    living_go_on(lane);
}

/* What is called, and comes after the sender's death, or never. */
static void call_held(const struct enq_lane *lane, struct enq_buffer *b,
                      struct enq_gate *gate, MPI_Request *request)
{
    enq_gate_make(gate);
    enq_gate_hold(gate, lane->cu);
    enq_isend(lane, b, 0, TAG_DEAD, request);
    enq_tell(0);
    enq_hear(0);
    die();
}

/* D1: rank 0's stream stands in the kernel that waits for the dead. */
static void d1_receive_of(const struct enq_lane *lane, size_t bytes)
{
    struct enq_buffer b;
    struct enq_gate gate;
    MPI_Request request;

    enq_buffer_open(&b, bytes);
    if (enq.rank == DEAD)
        call_held(lane, &b, &gate, &request);
    if (enq.rank == 0) {
        enq_hear(DEAD);
        enq_recv(lane, &b, DEAD, TAG_DEAD, MPI_STATUS_IGNORE);
        enq_tell(DEAD);
        expect_failed_once(lane);
        expect_well(lane);
    }
    go_on(lane);
}

static void d1_short_receive(const struct enq_lane *lane)
{
    d1_receive_of(lane, ENQ_SMALL);
}

static void d1_long_receive(const struct enq_lane *lane)
{
    d1_receive_of(lane, ENQ_LARGE);
}

/* One launch waits for all, and gives up what is of the dead alone. */
static void d1_receive_beside(const struct enq_lane *lane, size_t bytes)
{
    enum { EACH = 5 };
    struct enq_buffer b[3][EACH];
    MPI_Request requests[2 * EACH];
    struct enq_gate gate;

    for (int i = 0; i < 3 * EACH; i++) {
        enq_buffer_open(&b[i % 3][i / 3], bytes);
        if (enq.rank > 0)
            enq_fill(&b[i % 3][i / 3], (unsigned)(i / 3) + 1);
    }
    if (enq.rank == DEAD) {
        enq_gate_make(&gate);
        enq_isend(lane, &b[0][0], 0, TAG_DEAD, &requests[0]);
        enq_gate_hold(&gate, lane->cu);
        for (int i = 1; i < EACH; i++)
            enq_isend(lane, &b[0][i], 0, TAG_DEAD, &requests[i]);
        enq_tell(0);
        enq_hear(0);
        die();
    } else if (enq.rank == 1) {
        enq_gate_make(&gate);
        enq_gate_hold(&gate, lane->cu);
        for (int i = 0; i < EACH; i++)
            enq_isend(lane, &b[0][i], 0, TAG_DEAD, &requests[i]);
        enq_tell(0);
        enq_hear(0);
        enq_gate_open(&gate);
        for (int i = 0; i < EACH; i++)
            ENQ_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    } else {
        enq_hear(1);
        enq_hear(DEAD);
        for (int i = 0; i < 2 * EACH; i++)
            enq_irecv(lane, &b[1 + i % 2][i / 2], 1 + i % 2, TAG_DEAD,
                      &requests[i]);
        enq_waitall(2 * EACH, requests);
        enq_tell(DEAD);
        CHECK(enq_class(MPIX_Stream_synchronize(lane->stream, 0.2)) ==
              MPI_ERR_PENDING);
        enq_tell(1);
        expect_failed_once(lane);
        for (int i = 0; i < EACH; i++)
            enq_expect(&b[1][i], bytes, (unsigned)i + 1);
    }
    go_on(lane);
}

static void d1_short_beside(const struct enq_lane *lane)
{
    d1_receive_beside(lane, ENQ_SMALL);
}

static void d1_long_beside(const struct enq_lane *lane)
{
    d1_receive_beside(lane, ENQ_LARGE);
}

/* Long messages cross: the stream stands until they were copied. */
static void d1_crossing_sends(const struct enq_lane *lane)
{
    struct enq_buffer to[3], from[3];
    MPI_Request requests[2];

    for (int i = 0; i < 3; i++) {
        enq_buffer_open(&to[i], ENQ_LARGE);
        enq_buffer_open(&from[i], ENQ_LARGE);
        enq_fill(&to[i], (unsigned)enq.rank + 1);
    }
    if (enq.rank == DEAD) {
        enq_hear(0);
        die();
    } else if (enq.rank == 1) {
        enq_hear(0);
        enq_recv(lane, &from[0], 0, TAG_ALIVE, MPI_STATUS_IGNORE);
        enq_send(lane, &to[0], 0, TAG_ALIVE);
        expect_well(lane);
        enq_expect(&from[0], ENQ_LARGE, 1);
    } else {
        enq_isend(lane, &to[DEAD], DEAD, TAG_DEAD, &requests[0]);
        enq_isend(lane, &to[1], 1, TAG_ALIVE, &requests[1]);
        enq_waitall(2, requests);
        enq_recv(lane, &from[1], 1, TAG_ALIVE, MPI_STATUS_IGNORE);
        enq_tell(DEAD);
        CHECK(enq_class(MPIX_Stream_synchronize(lane->stream, 0.2)) ==
              MPI_ERR_PENDING);
        enq_tell(1);
        expect_failed_once(lane);
        enq_expect(&from[1], ENQ_LARGE, 2);
    }
    go_on(lane);
}

/* More short messages than its ring has room for, none of which it takes. */
static void d1_full_ring(const struct enq_lane *lane)
{
    enum { MANY = 400, BYTES = 4096 };
    static MPI_Request requests[MANY];
    struct enq_buffer b;

    enq_buffer_open(&b, BYTES);
    if (enq.rank == DEAD) {
        enq_hear(0);
        die();
    } else if (enq.rank == 0) {
        for (int i = 0; i < MANY; i++)
            enq_isend(lane, &b, DEAD, TAG_DEAD, &requests[i]);
        enq_waitall(MANY, requests);
        enq_tell(DEAD);
        while (MPIX_Stream_synchronize(lane->stream, SECONDS) == MPI_SUCCESS)
            continue;
        ENQ_OK(MPIX_Stream_get_error(lane->stream, &(int){0}, NULL));
    }
    go_on(lane);
}

/* It ends in the middle of it: then either all of it has come, or there is an
 * error. */
static void d1_pull_under_way(const struct enq_lane *lane)
{
    struct enq_buffer b;
    MPI_Request request;

    enq_buffer_open(&b, ENQ_LARGE);
    if (enq.rank == DEAD) {
        enq_fill(&b, 7);
        enq_isend(lane, &b, 0, TAG_DEAD, &request);
        MGDS_CU(cuStreamSynchronize(lane->cu));
        die();
    } else if (enq.rank == 0) {
        int code;

        enq_irecv(lane, &b, DEAD, TAG_DEAD, &request);
        enq_wait(&request, MPI_STATUS_IGNORE);
        code = MPIX_Stream_synchronize(lane->stream, SECONDS);
        if (code == MPI_SUCCESS)
            enq_expect(&b, ENQ_LARGE, 7);
        ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
        while (MPI_Iprobe(DEAD, 1, lane->comm, &(int){0}, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS)
            continue;
    }
    go_on(lane);
}

/* D9: from any source, when nobody is left; and from the dead, later. */
static void d9_any_source(const struct enq_lane *lane)
{
    struct enq_buffer b;
    MPI_Request request;
    int word = 0;

    if (enq.rank != 0) {
        enq_hear(0);
        die();
    }
    enq_buffer_open(&b, ENQ_SMALL);
    ENQ_OK(
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, lane->comm, &request));
    enq_recv(lane, &b, MPI_ANY_SOURCE, 2, MPI_STATUS_IGNORE);
    enq_tell(DEAD);
    CHECK(enq_class(MPIX_Stream_synchronize(lane->stream, 0.5)) ==
          MPI_ERR_PENDING);
    enq_tell(1);
    CHECK(enq_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    expect_failed_once(lane);
    enq_recv(lane, &b, MPI_ANY_SOURCE, 2, MPI_STATUS_IGNORE);
    expect_failed_once(lane);
    CHECK(MPI_Probe(MPI_ANY_SOURCE, 1, lane->comm, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS);
    later_calls_fail(lane);
}

/* A driver that ends the context, as one may that has mapped memory of a dead
 * process: no call stands, and each says so. */
static void broken_context(const struct enq_lane *lane)
{
    double begin = now();
    struct enq_buffer b;
    MPI_Request request;

    enq_buffer_open(&b, ENQ_SMALL);
    if (enq.rank > 0) {
        enq_hear(0);
        return;
    }
    enq_irecv(lane, &b, 1, 1, &request);
    enq_recv(lane, &b, 1, 1, MPI_STATUS_IGNORE);
    enq_send(lane, &b, 1, 1);
    mgds_test_break_context();
    CHECK(MPIX_Stream_synchronize(lane->stream, 2 * SECONDS) != MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPIX_Recv_enqueue(b.at, (int)ENQ_SMALL, MPI_BYTE, 1, 1, lane->comm,
                            MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPIX_Send_enqueue(b.at, (int)ENQ_SMALL, MPI_BYTE, 1, 1, lane->comm) !=
          MPI_SUCCESS);
    CHECK(now() - begin < SECONDS);
    enq_tell(1);
    enq_tell(DEAD);
}

struct part {
    const char *name;
    void (*run)(const struct enq_lane *lane);
    bool silent;     /* nobody has met before */
    bool all_others; /* end, not one */
};

static const struct part parts[] = {
    {.name = "d1_short_receive", .run = d1_short_receive},
    {.name = "d1_long_receive", .run = d1_long_receive},
    {.name = "d1_short_beside", .run = d1_short_beside},
    {.name = "d1_long_beside", .run = d1_long_beside},
    {.name = "d1_crossing_sends", .run = d1_crossing_sends},
    {.name = "d1_full_ring", .run = d1_full_ring},
    {.name = "d1_pull_under_way", .run = d1_pull_under_way},
    {.name = "d9_any_source", .run = d9_any_source, .all_others = true},
    {.name = "d9_silent_receive",
     .run = d9_silent_receive,
     .silent = true,
     .all_others = true},
    {.name = "d9_silent_probe",
     .run = d9_silent_probe,
     .silent = true,
     .all_others = true},
    {.name = "d9_silent_source", .run = d9_silent_source, .silent = true},
    {.name = "d9_silent_source_gone",
     .run = d9_silent_source_gone,
     .silent = true},
    {.name = "d9_stopped", .run = d9_stopped},
    {.name = "d9_stopped_in_parts", .run = d9_stopped_in_parts},
    {.name = "d9_given_up_goes_on", .run = d9_given_up_goes_on},
    {.name = "d9_taken_for_dead", .run = d9_taken_for_dead},
    {.name = "broken_context", .run = broken_context},
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static const struct part *part;

/* MPI has lost a process: there is no telling how its Finalize would end. */
static void run(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    if (!part->silent)
        get_acquainted(&lane);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody dies while others still do */
    part->run(&lane);
    if (enq.rank == 0)
        printf("enq survive: all well\n");
    fflush(stdout);
    if (enq.rank < DEAD && !part->all_others) {
        if (enq.rank == 0)
            enq_tell(1);
        else
            enq_hear(0);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    struct enq_case cases[PARTS + 1] = {{0}};

    be_a_child();
    for (int i = 0; i < PARTS; i++) {
        cases[i] = (struct enq_case){parts[i].name, 3, run};
        if (argc > 1 && strcmp(argv[argc - 1], parts[i].name) == 0)
            part = &parts[i];
    }
    if (!part) {
        fprintf(stderr, "%s: name one case, last; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq survive", cases);
}
