/*
 * How a process ends with work pending. Each case is a run of its own: it ends
 * MPI. The rows of the list name one, and say what must come of it.
 */
#include "tests/enq/enq.h"

#include <stdlib.h>

/* Finalize waits for what was enqueued and can be done. */
static void finalize_drains(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_LARGE);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_isend(&lane, &b, 1, 1, &request);
        ENQ_OK(MPI_Request_free(&request));
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    MGDS_CU(cuStreamSynchronize(lane.cu));
    if (enq.rank == 1)
        enq_expect(&b, ENQ_LARGE, 1);
}

/* A receive that nobody serves is named; the wait for it is bounded. */
static void finalize_names_what_is_left(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4321);
    if (enq.rank == 1)
        enq_irecv(&lane, &b, 0, 99, &request);
    MPI_Finalize();
}

/* MPI_Abort waits for nobody, although a stream stands. */
static void abort_does_not_wait(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4096);
    enq_recv(&lane, &b, (enq.rank + 1) % enq.size, 1, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (enq.rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    enq_sync(&lane);
}

/* A wait with an end says what is left, and the stream goes on later. */
static void synchronize_has_an_end(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4096);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        CHECK(enq_class(MPIX_Stream_synchronize(lane.stream, 0.3)) ==
              MPI_ERR_PENDING);
        enq_tell(0);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
        enq_expect(&b, 4096, 1);
    } else if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_hear(1);
        enq_send(&lane, &b, 1, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* An error that no call could return is MPI_Finalize's. */
static void finalize_returns_errors(void)
{
    struct enq_lane lane;
    struct enq_buffer large, small;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&large, 8000);
    enq_buffer_open(&small, 4000);
    if (enq.rank == 0)
        enq_send(&lane, &large, 1, 1);
    else if (enq.rank == 1)
        enq_recv(&lane, &small, 0, 1, MPI_STATUS_IGNORE);
    enq_sync(&lane);
    ENQ_OK(MPI_Comm_free(&lane.comm));
    CHECK(MPI_Finalize() == (enq.rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case27_finalize_drains", 2, finalize_drains},
        {"case27_finalize_names_what_is_left", 2, finalize_names_what_is_left},
        {"case27_finalize_returns_errors", 2, finalize_returns_errors},
        {"case27_abort_does_not_wait", 2, abort_does_not_wait},
        {"case27_synchronize_has_an_end", 2, synchronize_has_an_end},
        {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name one case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq release", cases);
}
