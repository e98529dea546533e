/* The known defects of MPICH's own implementation, each as a case that it
 * fails or may fail. */
#include "tests/enq/enq.h"

#include <string.h>

/* 1: the array of requests, and requests, are gone when the call returns. */
static void arrays_may_go_at_once(const struct enq_lane *lane)
{
    struct enq_buffer b[2];
    MPI_Request requests[2];

    for (int i = 0; i < 2; i++) {
        enq_buffer_open(&b[i], 1000);
        if (enq.rank == 0) {
            enq_fill(&b[i], (unsigned)i + 1);
            enq_isend(lane, &b[i], 1, 1, &requests[i]);
        } else if (enq.rank == 1) {
            enq_irecv(lane, &b[i], 0, 1, &requests[i]);
        }
    }
    if (enq.rank < 2)
        enq_waitall(2, requests);
    memset(requests, 0xff, sizeof(requests));
    enq_sync(lane);
    for (int i = 0; i < 2; i++) {
        if (enq.rank == 1)
            enq_expect(&b[i], 1000, (unsigned)i + 1);
        enq_buffer_close(&b[i]);
    }
}

static void requests_are_not_touched_later(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps; lap++)
        arrays_may_go_at_once(&lane);
    enq_lane_close(&lane);
}

/* 2: bytes behind a short message stay, by both forms of the receive. */
static void short_receive(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 100000);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        ENQ_OK(MPIX_Send_enqueue(b.at, 12345, MPI_BYTE, 1, 1, lane.comm));
        ENQ_OK(MPIX_Send_enqueue(b.at, 345, MPI_BYTE, 1, 1, lane.comm));
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, &status);
        enq_sync(&lane);
        enq_status_is(&status, 0, 1, 12345);
        enq_expect(&b, 12345, 1);
        enq_wipe(&b);
        enq_irecv(&lane, &b, 0, 1, &request);
        enq_wait(&request, &status);
        enq_sync(&lane);
        enq_status_is(&status, 0, 1, 345);
        enq_expect(&b, 345, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* 3: an error of an operation comes back, and the process goes on. */
static void truncation_returns(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    int code = MPI_SUCCESS;

    enq_lane_open(&lane);
    enq_errors_count(lane.comm);
    enq_buffer_open(&b, enq.rank == 0 ? 200 : 100);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        ENQ_OK(MPIX_Stream_get_error(lane.stream, &code, NULL));
        CHECK(enq_class(code) == MPI_ERR_TRUNCATE);
        enq_expect(&b, 100, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* 4: no rank, by every call. */
static void no_process(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request requests[2];

    enq_lane_open(&lane);
    enq_buffer_open(&b, 100);
    enq_send(&lane, &b, MPI_PROC_NULL, 1);
    enq_recv(&lane, &b, MPI_PROC_NULL, 1, MPI_STATUS_IGNORE);
    enq_isend(&lane, &b, MPI_PROC_NULL, 1, &requests[0]);
    enq_irecv(&lane, &b, MPI_PROC_NULL, 1, &requests[1]);
    enq_waitall(2, requests);
    ENQ_OK(MPIX_Stream_send(b.at, 100, MPI_BYTE, MPI_PROC_NULL, 1, lane.comm, 0,
                            0));
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* 5: any source, by enqueued, plain and stream receives. */
static void any_source_everywhere(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 5000);
    for (int way = 0; way < 3; way++) {
        if (enq.rank == 0) {
            enq_fill(&b, 1);
            enq_send(&lane, &b, 1, 1);
            enq_sync(&lane);
        } else if (enq.rank == 1) {
            enq_wipe(&b);
            if (way == 0)
                enq_recv(&lane, &b, MPI_ANY_SOURCE, 1, &status);
            else if (way == 1)
                ENQ_OK(MPI_Recv(b.at, 5000, MPI_BYTE, MPI_ANY_SOURCE, 1,
                                lane.comm, &status));
            else
                ENQ_OK(MPIX_Stream_recv(b.at, 5000, MPI_BYTE, MPI_ANY_SOURCE, 1,
                                        lane.comm, 0, 0, &status));
            enq_sync(&lane);
            enq_status_is(&status, 0, 1, 5000);
            enq_expect(&b, 5000, 1);
        }
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

enum { STREAMS = 3 };

/* From each index of rank 0 to each of the next rank's, which has fewer. */
static void multiplex_all(MPI_Comm comm, int theirs)
{
    for (int to = 0; to < theirs; to++)
        for (int from = 0; from < STREAMS; from++) {
            unsigned word = (unsigned)(to * STREAMS + from + 1);
            unsigned got = 0;

            if (enq.rank == 0)
                ENQ_OK(MPIX_Stream_send(&word, 1, MPI_UNSIGNED, 1, 1, comm,
                                        from, to));
            if (enq.rank == 1) {
                ENQ_OK(MPIX_Stream_recv(&got, 1, MPI_UNSIGNED, 0, 1, comm, from,
                                        to, MPI_STATUS_IGNORE));
                CHECK(got == word);
            }
        }
}

/* 6: streams by index, another number of them at each rank. */
static void multiplex(void)
{
    int own = STREAMS - enq.rank % 2;
    MPIX_Stream streams[STREAMS], got;
    CUstream cu[STREAMS];
    MPI_Comm comm;

    for (int i = 0; i < own; i++) {
        MGDS_CU(cuStreamCreate(&cu[i], CU_STREAM_NON_BLOCKING));
        streams[i] = enq_stream_of(cu[i]);
    }
    ENQ_OK(
        MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, own, streams, &comm));
    for (int i = 0; i < own; i++) {
        ENQ_OK(MPIX_Comm_get_stream(comm, i, &got));
        CHECK(got == streams[i]);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK(MPIX_Comm_get_stream(comm, own, &got) != MPI_SUCCESS);
    multiplex_all(comm, STREAMS - 1);
    ENQ_OK(MPI_Comm_free(&comm));
    for (int i = 0; i < own; i++) {
        ENQ_OK(MPIX_Stream_free(&streams[i]));
        MGDS_CU(cuStreamDestroy(cu[i]));
    }
}

/* 7: a progress thread that is started, and many requests of both kinds. */
static void progress_thread_and_requests(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    ENQ_OK(MPIX_Start_progress_thread(lane.stream));
    for (int lap = 0; lap < enq.laps; lap++)
        arrays_may_go_at_once(&lane);
    ENQ_OK(MPIX_Stop_progress_thread(lane.stream));
    enq_lane_close(&lane);
}

/* 8: a receive that stands on one stream stops no send of another, whichever
 * of the two was called first. */
static void streams_do_not_wait_for_each_other(void)
{
    struct enq_lane one, two;
    struct enq_buffer in, out;

    enq_lane_open(&one);
    enq_lane_open(&two);
    enq_buffer_open(&in, ENQ_LARGE);
    enq_buffer_open(&out, ENQ_LARGE);
    if (enq.rank < 2) {
        const struct enq_lane *first = enq.rank ? &two : &one;
        const struct enq_lane *second = enq.rank ? &one : &two;

        enq_fill(&out, (unsigned)enq.rank + 1);
        enq_recv(first, &in, 1 - enq.rank, 1, MPI_STATUS_IGNORE);
        enq_send(second, &out, 1 - enq.rank, 1);
        enq_sync(first);
        enq_sync(second);
        enq_expect(&in, ENQ_LARGE, (unsigned)(1 - enq.rank) + 1);
    }
    enq_lane_close(&two);
    enq_lane_close(&one);
    enq_buffer_close(&out);
    enq_buffer_close(&in);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"defect1_requests_are_not_touched_later", 2,
         requests_are_not_touched_later},
        {"defect2_short_receive", 2, short_receive},
        {"defect3_truncation_returns", 2, truncation_returns},
        {"defect4_no_process", 1, no_process},
        {"defect5_any_source_everywhere", 2, any_source_everywhere},
        {"defect6_multiplex", 2, multiplex},
        {"defect7_progress_thread_and_requests", 2,
         progress_thread_and_requests},
        {"defect8_streams_do_not_wait_for_each_other", 2,
         streams_do_not_wait_for_each_other},
        {0},
    };

    return enq_main(argc, argv, "enq defects", cases);
}
