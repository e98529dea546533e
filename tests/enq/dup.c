/* Duplicates of stream communicators that are made while the program goes on:
 * of use once their request is complete, however that is seen. */
#include "tests/enq/enq.h"

enum { BYTES = 20000 };

/* A ring of enqueued messages, and a collective. */
static void use(MPI_Comm comm, const struct enq_lane *lane, unsigned message)
{
    struct enq_lane as = *lane;
    struct enq_buffer out, in;
    MPI_Request requests[2];
    int size, sum = 0, one = 1;
    int from = (enq.rank + enq.size - 1) % enq.size;

    as.comm = comm;
    enq_buffer_open(&out, BYTES);
    enq_buffer_open(&in, BYTES);
    enq_fill(&out, message + (unsigned)enq.rank);
    enq_irecv(&as, &in, from, 1, &requests[0]);
    enq_isend(&as, &out, (enq.rank + 1) % enq.size, 1, &requests[1]);
    enq_waitall(2, requests);
    enq_sync(&as);
    enq_expect(&in, BYTES, message + (unsigned)from);
    ENQ_OK(MPI_Comm_size(comm, &size));
    ENQ_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(size == enq.size && sum == enq.size);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

static void until_tested(MPI_Request *request)
{
    for (int flag = 0; !flag;)
        ENQ_OK(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
}

static void until_waited(MPI_Request *request)
{
    MPI_Status status;
    int flag;

    ENQ_OK(MPI_Wait(request, &status));
    enq_status_is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    ENQ_OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
}

static void until_any(MPI_Request *request)
{
    MPI_Request two[2] = {MPI_REQUEST_NULL, *request};
    int index;

    ENQ_OK(MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE));
    CHECK(index == 1);
    *request = two[1];
}

static void until_asked(MPI_Request *request)
{
    for (int flag = 0; !flag;)
        ENQ_OK(MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void (*const ends[])(MPI_Request *) = {until_waited, until_tested,
                                              until_any, until_asked};
enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

/* Each rank sees the end in another way. */
static void used_when_complete(void)
{
    struct enq_lane lane;
    MPI_Request request;
    MPIX_Stream stream;
    MPI_Comm dup;

    enq_lane_open(&lane);
    for (int i = 0; i < ENDS; i++) {
        if (i % 2)
            ENQ_OK(MPI_Comm_idup(lane.comm, &dup, &request));
        else
            ENQ_OK(MPI_Comm_idup_with_info(lane.comm, MPI_INFO_NULL, &dup,
                                           &request));
        ends[(i + enq.rank) % ENDS](&request);
        CHECK(request == MPI_REQUEST_NULL);
        ENQ_OK(MPIX_Comm_get_stream(dup, 0, &stream));
        CHECK(stream == lane.stream);
        use(dup, &lane, 3);
        ENQ_OK(MPI_Comm_free(&dup));
    }
    enq_lane_close(&lane);
}

/* Nobody needs another one's completion call: here that comes later. */
static void holds_up_nobody(void)
{
    struct enq_lane lane;
    MPI_Request request;
    MPI_Comm dup;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_idup(lane.comm, &dup, &request));
    if (enq.rank == 0) {
        ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 1; i < enq.size; i++)
            enq_tell(i);
    } else {
        enq_hear(0);
        ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    use(dup, &lane, 5);
    ENQ_OK(MPI_Comm_free(&dup));
    enq_lane_close(&lane);
}

/* Several under way, with other collectives between; then duplicates of them.
 */
static void several_at_once(void)
{
    enum { MANY = 5 };
    struct enq_lane lane;
    MPI_Request requests[MANY];
    MPI_Comm dups[MANY + 1];
    MPI_Status statuses[MANY];
    int one = 1, sum;

    enq_lane_open(&lane);
    for (int i = 0; i < MANY; i++) {
        ENQ_OK(MPI_Comm_idup(i < 3 ? lane.comm : dups[MANY], &dups[i],
                             &requests[i]));
        ENQ_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, lane.comm));
        CHECK(sum == enq.size);
        if (i == 2)
            ENQ_OK(MPI_Comm_dup(lane.comm, &dups[MANY]));
    }
    ENQ_OK(MPI_Waitall(MANY, requests, statuses));
    for (int i = MANY; i >= 0; i--)
        use(dups[i], &lane, (unsigned)(7 + 10 * i));
    for (int i = 0; i <= MANY; i++)
        ENQ_OK(MPI_Comm_free(&dups[i]));
    enq_lane_close(&lane);
}

/* The one it was made from goes first. */
static void outlives_the_old_one(void)
{
    struct enq_lane lane;
    MPI_Request request;
    MPI_Comm dup;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_idup(lane.comm, &dup, &request));
    ENQ_OK(MPI_Comm_free(&lane.comm));
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use(dup, &lane, 2);
    lane.comm = dup;
    enq_lane_close(&lane);
}

/* Refused by all, the same class, and nothing is under way. */
static void between_groups(void)
{
    MPI_Comm half, inter, between, dup;
    MPI_Request request;
    int odd = enq.rank % 2;

    ENQ_OK(MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half));
    ENQ_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 3, &inter));
    ENQ_OK(MPIX_Stream_comm_create(inter, MPIX_STREAM_NULL, &between));
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    CHECK(enq_class(MPI_Comm_idup(between, &dup, &request)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    ENQ_OK(MPI_Comm_dup(between, &dup));
    ENQ_OK(MPI_Comm_free(&dup));
    ENQ_OK(MPI_Comm_free(&between));
    ENQ_OK(MPI_Comm_free(&inter));
    ENQ_OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"used_when_complete", 2, used_when_complete},
        {"holds_up_nobody", 2, holds_up_nobody},
        {"several_at_once", 2, several_at_once},
        {"outlives_the_old_one", 2, outlives_the_old_one},
        {"between_groups", 2, between_groups},
        {0},
    };

    return enq_main(argc, argv, "enq dup", cases);
}
