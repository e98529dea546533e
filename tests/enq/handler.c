/* Error handlers that use requests: they free and complete what the call that
 * runs into them was given. Of several threads MPICH holds a lock while it
 * calls a handler: so this program never asks for MPI_THREAD_MULTIPLE. */
#include "tests/enq/enq.h"

static struct {
    void (*deed)(MPI_Request *request);
    MPI_Request *request;
    int told;
} plan;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    plan.told++;
    if (plan.deed) {
        void (*deed)(MPI_Request *) = plan.deed;

        plan.deed = NULL;
        deed(plan.request);
    }
}

static void plan_it(MPI_Comm comm, void (*deed)(MPI_Request *),
                    MPI_Request *request)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    plan.deed = deed;
    plan.request = request;
    plan.told = 0;
}

static void free_it(MPI_Request *request)
{
    ENQ_OK(MPI_Request_free(request));
}

static void wait_for_it(MPI_Request *request)
{
    ENQ_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void enqueue_its_wait(MPI_Request *request)
{
    ENQ_OK(MPIX_Wait_enqueue(request, MPI_STATUS_IGNORE));
}

/* An error on the lane of which nobody was told yet. */
static void leave_error(const struct enq_lane *lane, struct enq_buffer *b)
{
    ENQ_OK(MPIX_Send_enqueue(b->at, 200, MPI_BYTE, enq.rank, 8, lane->comm));
    ENQ_OK(MPIX_Recv_enqueue(b->at, 100, MPI_BYTE, enq.rank, 8, lane->comm,
                             MPI_STATUS_IGNORE));
    enq_sync(lane);
}

/* The call tells of an older error first, and finds its requests gone. */
static void gone_in_the_call(void (*deed)(MPI_Request *), int count)
{
    struct enq_lane lane;
    struct enq_buffer b, in;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];

    enq_lane_open(&lane);
    enq_buffer_open(&b, 200);
    enq_buffer_open(&in, 4000);
    plan_it(lane.comm, NULL, NULL);
    ENQ_OK(MPIX_Irecv_enqueue(in.at, 4000, MPI_BYTE, enq.rank, 1, lane.comm,
                              &requests[0]));
    ENQ_OK(MPI_Send(in.at + 2000, 1000, MPI_BYTE, enq.rank, 1, lane.comm));
    leave_error(&lane, &b);
    plan_it(lane.comm, deed, &requests[0]);
    if (count == 1)
        ENQ_OK(MPIX_Wait_enqueue(&requests[0], &statuses[0]));
    else
        ENQ_OK(MPIX_Waitall_enqueue(2, requests, statuses));
    CHECK(plan.told == 1);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    enq_status_is(&statuses[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    CHECK(enq_class(MPIX_Stream_synchronize(lane.stream, 30)) ==
          MPI_ERR_TRUNCATE);
    enq_lane_close(&lane);
    enq_buffer_close(&in);
    enq_buffer_close(&b);
}

static void gone_by_free(void)
{
    gone_in_the_call(free_it, 1);
    gone_in_the_call(free_it, 2);
}

static void gone_by_wait(void)
{
    gone_in_the_call(wait_for_it, 1);
    gone_in_the_call(wait_for_it, 2);
}

static void gone_by_its_wait(void)
{
    gone_in_the_call(enqueue_its_wait, 1);
    gone_in_the_call(enqueue_its_wait, 2);
}

/* The program still has a copy of the handle, which is refused. */
static void copy_is_refused(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request, copy;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 200);
    plan_it(lane.comm, NULL, NULL);
    enq_isend(&lane, &b, MPI_PROC_NULL, 1, &request);
    copy = request;
    leave_error(&lane, &b);
    plan_it(lane.comm, free_it, &copy);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(enq_class(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE)) ==
          MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    CHECK(copy == MPI_REQUEST_NULL);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* MPI's own errors: their handlers run inside MPI, and what is freed there is
 * given back all the same, by MPI as well: its handles come again. */
static void freed_inside_mpi(void)
{
    enum { LAPS = 100, FEW = 20 };
    MPI_Request handles[LAPS];
    struct enq_lane lane;
    struct enq_buffer b;
    int distinct = 0;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    for (int lap = 0; lap < LAPS; lap++) {
        MPI_Request request;
        int k = 0, got;

        enq_irecv(&lane, &b, enq.rank, 1, &request);
        handles[distinct] = request;
        while (handles[k] != request)
            k++;
        distinct += k == distinct;
        plan_it(MPI_COMM_WORLD, free_it, &request);
        CHECK(MPI_Send(b.at, 1, MPI_BYTE, enq.size, 1, MPI_COMM_WORLD) !=
              MPI_SUCCESS);
        CHECK(plan.told == 1 && request == MPI_REQUEST_NULL);
        ENQ_OK(MPI_Send(&lap, sizeof(lap), MPI_BYTE, enq.rank, 1, lane.comm));
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
        enq_read(&b, &got, sizeof(got));
        CHECK(got == lap);
    }
    CHECK(distinct < FEW);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"gone_by_free", 1, gone_by_free},
        {"gone_by_wait", 1, gone_by_wait},
        {"gone_by_its_wait", 1, gone_by_its_wait},
        {"copy_is_refused", 1, copy_is_refused},
        {"freed_inside_mpi", 1, freed_inside_mpi},
        {0},
    };

    enq.level = MPI_THREAD_SERIALIZED;
    return enq_main(argc, argv, "enq handler", cases);
}
