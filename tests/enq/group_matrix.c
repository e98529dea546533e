/*
 * Groups, all that may differ against each other: kinds of calls, where they
 * are called and completed, what happens beside them. In each row a rank sends
 * to the next one and receives from the one before, or does both with itself;
 * a program puts what is sent in its buffer as late as the row allows: just
 * ahead of the end of the group.
 */
#include <string.h>

#include "tests/enq/matrix.h"

enum row_send { ISEND, SEND, START, SSTART, BSTART };
enum row_receive { IRECV, RECV, RSTART };
enum row_first { RECEIVE_FIRST, SEND_FIRST };
enum row_place { INSIDE, OUTSIDE }; /* of the group */
enum row_complete {
    STREAM,
    STREAM_ALL,
    HOST_WAIT,
    HOST_TEST,
    MIXED, /* the send by the stream, the receive by the host */
    FREED
};
enum row_beside {
    NOTHING,
    CANCELLED, /* a receive */
    REFUSED,   /* a call */
    ORDINARY,  /* a message of the same tag */
    PROBED     /* which flushes */
};
enum row_peer { NEIGHBOUR, ITSELF, ANYBODY };
enum row_memory { DEVICE, PINNED };
enum row_gate { OPEN, HELD }; /* the stream stands ahead of it all */

struct row {
    int strength;
    enum row_send send;
    enum row_receive receive;
    enum row_first first;
    enum row_place sent, received;
    enum row_complete complete;
    enum row_place completed;
    int depth;
    enum row_beside beside;
    enum row_peer peer;
    int laps;
    int bytes;
    enum row_memory memory;
    enum row_gate gate;
};

static const struct row rows[] = {
#include "group_rows.inc"
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct run {
    const struct row *row;
    const struct enq_lane *lane;
    int next, previous;
    struct enq_gate gate;
    struct enq_buffer b[BOTH], source[LAPS], kept[LAPS];
    MPI_Request request[BOTH];
    MPI_Status status[LAPS][BOTH];
    MPI_Status cancelled[LAPS];
    MPI_Request ordinary[BOTH];
    int word[BOTH];
};

static void let_stream_go(const struct run *run)
{
    enq_gate_open(&run->gate);
}

/* Calls. */

static bool blocks(const struct row *row, int side)
{
    return side == TO ? row->send == SEND : row->receive == RECV;
}

static bool persists(const struct row *row, int side)
{
    return side == TO ? row->send >= START : row->receive == RSTART;
}

static int source_of(const struct run *run)
{
    return run->row->peer == ANYBODY ? MPI_ANY_SOURCE : run->previous;
}

static void make_persistent(struct run *run)
{
    static int (*const inits[])(const void *, int, MPI_Datatype, int, int,
                                MPI_Comm,
                                MPI_Request *) = {[START] = MPI_Send_init,
                                                  [SSTART] = MPI_Ssend_init,
                                                  [BSTART] = MPI_Bsend_init};
    const struct row *row = run->row;

    if (persists(row, TO))
        ENQ_OK(inits[row->send](run->b[TO].at, row->bytes, MPI_BYTE, run->next,
                                TAG, run->lane->comm, &run->request[TO]));
    if (persists(row, FROM))
        ENQ_OK(MPI_Recv_init(run->b[FROM].at, row->bytes, MPI_BYTE,
                             source_of(run), TAG, run->lane->comm,
                             &run->request[FROM]));
}

static void call_send(struct run *run)
{
    if (persists(run->row, TO))
        ENQ_OK(MPIX_Start_enqueue(&run->request[TO]));
    else if (blocks(run->row, TO))
        enq_send(run->lane, &run->b[TO], run->next, TAG);
    else
        enq_isend(run->lane, &run->b[TO], run->next, TAG, &run->request[TO]);
}

static void call_receive(struct run *run, int lap)
{
    if (persists(run->row, FROM))
        ENQ_OK(MPIX_Start_enqueue(&run->request[FROM]));
    else if (blocks(run->row, FROM))
        enq_recv(run->lane, &run->b[FROM], source_of(run), TAG,
                 &run->status[lap][FROM]);
    else
        enq_irecv(run->lane, &run->b[FROM], source_of(run), TAG,
                  &run->request[FROM]);
}

/* Those that are called there. */
static void call(struct run *run, int lap, enum row_place place)
{
    const struct row *row = run->row;

    for (int i = 0; i < BOTH; i++) {
        if ((i == 0) == (row->first == SEND_FIRST)) {
            if (row->sent == place)
                call_send(run);
        } else if (row->received == place) {
            call_receive(run, lap);
        }
    }
}

/* Beside them. */

static void cancel(struct run *run, int lap)
{
    static char byte;
    MPI_Request request;

    ENQ_OK(MPIX_Irecv_enqueue(&byte, 1, MPI_CHAR, run->previous, NOBODYS_TAG,
                              run->lane->comm, &request));
    ENQ_OK(MPI_Cancel(&request));
    ENQ_OK(MPIX_Wait_enqueue(&request, &run->cancelled[lap]));
}

static void be_refused(const struct run *run)
{
    MPI_Request request = MPI_REQUEST_NULL;

    CHECK(enq_class(MPIX_Isend_enqueue(run->b[TO].at, run->row->bytes, MPI_BYTE,
                                       enq.size, TAG, run->lane->comm,
                                       &request)) == MPI_ERR_RANK);
    CHECK(request == MPI_REQUEST_NULL);
}

static void probe(const struct run *run)
{
    int flag = 1;

    ENQ_OK(MPI_Iprobe(run->previous, NOBODYS_TAG, run->lane->comm, &flag,
                      MPI_STATUS_IGNORE));
    CHECK(!flag);
}

/* Behind the others, of which they have the tag. */
static void send_ordinary(struct run *run, int lap)
{
    run->word[TO] = lap;
    run->word[FROM] = -1;
    ENQ_OK(MPI_Isend(&run->word[TO], 1, MPI_INT, run->next, TAG,
                     run->lane->comm, &run->ordinary[TO]));
    ENQ_OK(MPI_Irecv(&run->word[FROM], 1, MPI_INT, source_of(run), TAG,
                     run->lane->comm, &run->ordinary[FROM]));
}

static void wait_for_ordinary(struct run *run, int lap)
{
    MPI_Status status[BOTH];

    if (run->row->beside != ORDINARY)
        return;
    let_stream_go(run);
    ENQ_OK(MPI_Waitall(BOTH, run->ordinary, status));
    CHECK(run->word[FROM] == lap);
}

static void do_beside(struct run *run, int lap)
{
    switch (run->row->beside) {
    case CANCELLED:
        cancel(run, lap);
        break;
    case REFUSED:
        be_refused(run);
        break;
    case ORDINARY:
        send_ordinary(run, lap);
        break;
    case PROBED:
        probe(run);
        break;
    case NOTHING:
        break;
    }
}

/* Completions, of what does not block. */

static bool left_to_stream(const struct row *row, int side)
{
    return blocks(row, side) || row->complete == STREAM ||
           row->complete == STREAM_ALL ||
           (row->complete == MIXED && side == TO);
}

static void wait_each(struct run *run, int lap, int side)
{
    if (!blocks(run->row, side))
        ENQ_OK(MPIX_Wait_enqueue(&run->request[side], &run->status[lap][side]));
}

static void wait_all(struct run *run, int lap)
{
    int count = blocks(run->row, FROM) ? 1 : BOTH; /* TO comes first */

    ENQ_OK(MPIX_Waitall_enqueue(count, run->request, run->status[lap]));
}

static void wait_by_host(struct run *run, int lap, int side)
{
    MPI_Request *request = &run->request[side];
    MPI_Status *status = &run->status[lap][side];
    int flag = 0;

    if (blocks(run->row, side))
        return;
    let_stream_go(run);
    if (run->row->complete != HOST_TEST)
        ENQ_OK(MPI_Wait(request, status));
    while (run->row->complete == HOST_TEST && !flag)
        ENQ_OK(MPI_Test(request, &flag, status));
}

static void let_go(struct run *run)
{
    for (int side = 0; side < BOTH; side++) {
        if (blocks(run->row, side))
            continue;
        ENQ_OK(MPI_Request_free(&run->request[side]));
        CHECK(run->request[side] == MPI_REQUEST_NULL);
    }
}

static void complete(struct run *run, int lap)
{
    const struct row *row = run->row;

    if (row->complete == STREAM_ALL && !(blocks(row, TO) && blocks(row, FROM)))
        wait_all(run, lap);
    else if (row->complete == FREED)
        let_go(run);
    for (int i = 0; i < BOTH; i++) {
        int side = (lap + i) % 2;

        if (row->complete == STREAM || (row->complete == MIXED && side == TO))
            wait_each(run, lap, side);
        else if (row->complete != STREAM_ALL && row->complete != FREED)
            wait_by_host(run, lap, side);
    }
}

/* Data. */

static bool flushes(const struct row *row)
{
    return row->beside == PROBED ||
           (row->completed == INSIDE && row->complete >= HOST_WAIT);
}

static bool is_late(const struct row *row)
{
    return row->sent == INSIDE && !flushes(row);
}

static void fill(struct run *run, int lap, bool late)
{
    if (late == is_late(run->row))
        enq_kernel_copy(run->lane->cu, &run->b[TO], &run->source[lap]);
}

static bool is_kept_by_stream(const struct row *row)
{
    return left_to_stream(row, FROM);
}

static void keep(struct run *run, int lap)
{
    const struct row *row = run->row;

    if (is_kept_by_stream(row)) {
        enq_kernel_copy(run->lane->cu, &run->kept[lap], &run->b[FROM]);
        return;
    }
    let_stream_go(run);
    if (row->complete == FREED)
        ENQ_OK(MPIX_Stream_synchronize(run->lane->stream, 60));
    else
        enq_status_is(&run->status[lap][FROM], run->previous, TAG,
                      (size_t)row->bytes);
    enq_expect(&run->b[FROM], (size_t)row->bytes, matrix_message(lap));
}

/* What was started is over: what the next lap writes it does not read. */
static void free_persistent(struct run *run)
{
    for (int side = 0; side < BOTH; side++)
        if (persists(run->row, side) && run->request[side] != MPI_REQUEST_NULL)
            ENQ_OK(MPI_Request_free(&run->request[side]));
}

static void lap(struct run *run, int lap)
{
    const struct row *row = run->row;

    make_persistent(run);
    fill(run, lap, false);
    call(run, lap, OUTSIDE);
    for (int i = 0; i < row->depth; i++)
        ENQ_OK(MPIX_Stream_group_start(run->lane->stream));
    call(run, lap, INSIDE);
    do_beside(run, lap);
    if (row->completed == INSIDE)
        complete(run, lap);
    fill(run, lap, true);
    for (int i = 0; i < row->depth; i++)
        ENQ_OK(MPIX_Stream_group_end(run->lane->stream));
    if (row->completed == OUTSIDE)
        complete(run, lap);
    keep(run, lap);
    wait_for_ordinary(run, lap);
    free_persistent(run);
}

static void judge(struct run *run)
{
    const struct row *row = run->row;
    int flag = 0;

    let_stream_go(run);
    ENQ_OK(MPIX_Stream_synchronize(run->lane->stream, 60));
    enq_sync(run->lane);
    for (int i = 0; i < row->laps; i++) {
        if (is_kept_by_stream(row)) {
            enq_status_is(&run->status[i][FROM], run->previous, TAG,
                          (size_t)row->bytes);
            enq_expect(&run->kept[i], (size_t)row->bytes, matrix_message(i));
        }
        if (row->beside == CANCELLED)
            MPI_Test_cancelled(&run->cancelled[i], &flag);
        CHECK(flag == (row->beside == CANCELLED));
    }
}

static void open_buffers(struct run *run)
{
    size_t bytes = (size_t)run->row->bytes;
    enum mgds_test_kind kind =
        run->row->memory == PINNED ? MGDS_TEST_PINNED : MGDS_TEST_DEVICE;

    for (int side = 0; side < BOTH; side++)
        enq_buffer_open_kind(&run->b[side], bytes, kind);
    matrix_buffers_open(run->source, run->kept, bytes);
}

static void close_buffers(struct run *run)
{
    matrix_buffers_close(run->source, run->kept);
    for (int side = 0; side < BOTH; side++)
        enq_buffer_close(&run->b[side]);
}

static void run_row(const struct enq_lane *lane, int number)
{
    struct run run = {.row = &rows[number],
                      .lane = lane,
                      .next = (enq.rank + 1) % enq.size,
                      .previous = (enq.rank + enq.size - 1) % enq.size,
                      .request = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};

    if (run.row->peer == ITSELF)
        run.next = run.previous = enq.rank;
    open_buffers(&run);
    enq_gate_make(&run.gate);
    if (run.row->gate == HELD)
        enq_gate_hold(&run.gate, lane->cu);
    for (int i = 0; i < run.row->laps; i++)
        lap(&run, i);
    judge(&run);
    MPI_Barrier(MPI_COMM_WORLD); /* all have what they received */
    enq_gate_free(&run.gate);
    close_buffers(&run);
}

/* Rows of arrays of that strength. */
static void run_rows(int least, int most)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROWS; i++)
        if (rows[i].strength >= least && rows[i].strength <= most)
            run_row(&lane, i);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    return matrix_main(argc, argv, "enq group_matrix", run_rows);
}
