/*
 * Persistent requests, all that may differ in their lives against each other:
 * kinds, order of calls, starts and completions by host and stream,
 * generations, cancel, free and errors. Each row is run on a stream
 * communicator, and again on an ordinary one, in host memory, with MPI's calls
 * for ours: what comes of the calls must be the same, as MPICH's own semantics
 * have it.
 *
 * Each rank sends to the next one and receives from the one before.
 */
#include "tests/enq/persist_matrix.h"

#include <stdlib.h>
#include <string.h>

static const struct row rows[] = {
#include "persist_rows.inc"
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Starts. */

static int start(struct run *run, int side, MPI_Request *request)
{
    return persist_by_stream(run, side) ? MPIX_Start_enqueue(request)
                                        : MPI_Start(request);
}

static void start_each(struct run *run)
{
    int first = run->row->first == SEND_FIRST ? TO : FROM;

    NOTE(run, enq_class(start(run, first, &run->request[first])));
    if (run->row->kind == RSEND)
        MPI_Barrier(MPI_COMM_WORLD);
    NOTE(run, enq_class(start(run, !first, &run->request[!first])));
}

static void start_together(struct run *run)
{
    int first = run->row->first == SEND_FIRST ? TO : FROM;
    MPI_Request both[BOTH] = {run->request[first], run->request[!first]};
    int rc = persist_by_stream(run, TO) ? MPIX_Startall_enqueue(BOTH, both)
                                        : MPI_Startall(BOTH, both);

    NOTE(run, enq_class(rc));
    NOTE(run,
         both[0] == run->request[first] && both[1] == run->request[!first]);
}

static void start_both(struct run *run)
{
    const struct row *row = run->row;

    if (row->together == TOGETHER && row->sent == row->received)
        start_together(run);
    else
        start_each(run);
}

/* MPI calls it erroneous. MPICH refuses it with a class that says less than
 * ours (MPI_ERR_PENDING), and tells no communicator of the program's. */
static void start_twice(struct run *run)
{
    for (int side = 0; side < BOTH; side++)
        NOTE(run, start(run, side, &run->request[side]) != MPI_SUCCESS);
}

/* Data: a message of its own each lap, read before it is written over. */

static void fill(struct run *run, int lap)
{
    struct enq_buffer *b = &run->b[TO];

    if (run->streamed[TO] && persist_by_stream(run, TO)) {
        enq_kernel_copy(run->lane->cu, b, &run->source[lap]);
        return;
    }
    if (run->streamed[TO]) { /* MPI_Wait waits for the stream */
        persist_let_stream_go(run);
        ENQ_OK(MPI_Wait(&run->request[TO], MPI_STATUS_IGNORE));
    }
    enq_fill(b, matrix_message(lap));
}

static void keep(struct run *run, int lap)
{
    if (run->streamed[FROM])
        enq_kernel_copy(run->lane->cu, &run->kept[lap], &run->b[FROM]);
    else
        enq_expect(&run->b[FROM], run->b[FROM].bytes, matrix_message(lap));
    run->keeps[lap] = run->streamed[FROM];
}

/* A start by the host does not wait for what the program put on the stream. */
static void before_receive(struct run *run)
{
    if (!run->streamed[FROM] || persist_by_stream(run, FROM))
        return;
    persist_let_stream_go(run);
    enq_sync(run->lane);
}

static bool has_come(const struct enq_buffer *b, unsigned message)
{
    for (size_t i = 0; i < b->bytes; i++)
        if ((unsigned char)b->at[i] != enq_byte(message, i))
            return false;
    return true;
}

/* MPICH may receive into the buffer, in this thread, in any of its calls; what
 * ours has under way on a communicator MPI_Comm_disconnect waits for. */
static void wait_for_freed(struct run *run, unsigned message)
{
    int flag;

    if (run->lane)
        ENQ_OK(MPI_Comm_disconnect(&run->comm));
    while (!run->lane && !has_come(&run->b[FROM], message))
        MPI_Iprobe(MPI_ANY_SOURCE, NOBODYS_TAG, run->comm, &flag,
                   MPI_STATUS_IGNORE);
    enq_expect(&run->b[FROM], run->b[FROM].bytes, message);
}

/* What was started goes on, and comes. */
static void free_active(struct run *run, int lap)
{
    for (int side = 0; side < BOTH; side++) {
        NOTE(run, enq_class(MPI_Request_free(&run->request[side])));
        NOTE(run, run->request[side] == MPI_REQUEST_NULL);
    }
    persist_let_stream_go(run);
    wait_for_freed(run, matrix_message(lap));
}

/* A receive beside them, of what nobody sends. */
static void cancel(struct run *run)
{
    MPI_Request request;
    MPI_Status status;
    char byte;

    ENQ_OK(MPI_Recv_init(&byte, 1, MPI_CHAR, run->previous, NOBODYS_TAG,
                         run->comm, &request));
    NOTE(run, enq_class(start(run, FROM, &request)));
    NOTE(run, enq_class(MPI_Cancel(&request)));
    persist_let_stream_go(run);
    if (run->lane && persist_left_to_stream(run, FROM)) {
        ENQ_OK(MPIX_Wait_enqueue(&request, &status));
        enq_sync(run->lane);
    } else {
        ENQ_OK(MPI_Wait(&request, &status));
    }
    persist_note_status(run, &status);
    NOTE(run, enq_class(MPI_Request_free(&request)));
}

/* A row. */

static void lap(struct run *run, int lap)
{
    const struct row *row = run->row;

    fill(run, lap);
    before_receive(run);
    start_both(run);
    if (row->end == TWICE)
        start_twice(run);
    if (row->end == CANCEL)
        cancel(run);
    if (row->end == FREE_ACTIVE && lap == row->laps - 1) {
        free_active(run, lap);
        return;
    }
    persist_complete(run, lap);
    keep(run, lap);
    run->done = lap + 1;
}

/* What the laps gave, as soon as no stream has any of it. */
static void judge(struct run *run)
{
    persist_let_stream_go(run);
    if (run->lane)
        ENQ_OK(MPIX_Stream_synchronize(run->lane->stream, 60));
    if (run->lane)
        enq_sync(run->lane);
    for (int i = 0; i < run->done; i++) {
        NOTE(run, enq_class(run->code[i][TO]));
        NOTE(run, enq_class(run->code[i][FROM]));
        persist_note_status(run, &run->status[i][FROM]);
        if (run->keeps[i])
            enq_expect(&run->kept[i], run->kept[i].bytes, matrix_message(i));
    }
}

/* Both are inactive, and answer so until they go. */
static void end(struct run *run)
{
    MPI_Status status;
    int flag;

    for (int side = 0; side < BOTH; side++) {
        if (run->request[side] == MPI_REQUEST_NULL)
            continue;
        NOTE(run, run->request[side] == run->handle[side]);
        for (flag = 0; !flag;)
            ENQ_OK(MPI_Test(&run->request[side], &flag, &status));
        persist_note_status(run, &status);
        NOTE(run, enq_class(MPI_Request_free(&run->request[side])));
        NOTE(run, run->request[side] == MPI_REQUEST_NULL);
    }
}

static void open_buffers(struct run *run)
{
    const struct row *row = run->row;
    size_t bytes = (size_t)row->bytes;
    enum mgds_test_kind from = MGDS_TEST_DEVICE, to = MGDS_TEST_DEVICE;

    if (row->memory != DEVICE)
        to = MGDS_TEST_PINNED;
    if (row->memory == PINNED)
        from = MGDS_TEST_PINNED;
    enq_buffer_open_kind(&run->b[TO], bytes, run->lane ? to : MGDS_TEST_HOST);
    enq_buffer_open_kind(&run->b[FROM], bytes,
                         run->lane ? from : MGDS_TEST_HOST);
    matrix_buffers_open(run->source, run->kept, bytes);
}

static void close_buffers(struct run *run)
{
    matrix_buffers_close(run->source, run->kept);
    enq_buffer_close(&run->b[FROM]);
    enq_buffer_close(&run->b[TO]);
}

static void make_requests(struct run *run)
{
    static int (*const inits[KINDS])(const void *, int, MPI_Datatype, int, int,
                                     MPI_Comm, MPI_Request *) = {
        MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};
    const struct row *row = run->row;

    ENQ_OK(inits[row->kind](run->b[TO].at, row->bytes, MPI_BYTE, run->next, TAG,
                            run->comm, &run->request[TO]));
    ENQ_OK(MPI_Recv_init(run->b[FROM].at, row->bytes, MPI_BYTE, run->previous,
                         TAG, run->comm, &run->request[FROM]));
    memcpy(run->handle, run->request, sizeof(run->handle));
}

static void live(struct run *run)
{
    open_buffers(run);
    enq_gate_make(&run->gate);
    if (run->row->end == FREE_ACTIVE && run->lane)
        ENQ_OK(MPI_Comm_dup(run->lane->comm, &run->comm));
    if (run->row->gate == HELD && run->lane)
        enq_gate_hold(&run->gate, run->lane->cu);
    make_requests(run);
    for (int i = 0; i < run->row->laps; i++)
        lap(run, i);
    judge(run);
    end(run);
    MPI_Barrier(MPI_COMM_WORLD); /* all have what they received */
    enq_gate_free(&run->gate);
    close_buffers(run);
}

static void compare(const struct notes *ours, const struct notes *mpichs,
                    int row)
{
    for (int i = 0; i < ours->count && i < mpichs->count; i++) {
        if (ours->line[i] == mpichs->line[i] &&
            ours->value[i] == mpichs->value[i])
            continue;
        fprintf(stderr,
                "rank %d, row %d, note %d: %d at line %d; MPICH: %d at line "
                "%d\n",
                enq.rank, row, i, ours->value[i], ours->line[i],
                mpichs->value[i], mpichs->line[i]);
        abort();
    }
    CHECK(ours->count == mpichs->count);
}

static void run_row(const struct enq_lane *lane, MPI_Comm plain, int number)
{
    struct run ours = {.row = &rows[number],
                       .lane = lane,
                       .comm = lane->comm,
                       .next = (enq.rank + 1) % enq.size,
                       .previous = (enq.rank + enq.size - 1) % enq.size};
    struct run mpichs = ours;

    mpichs.lane = NULL;
    mpichs.comm = plain;
    live(&mpichs);
    live(&ours);
    compare(&ours.notes, &mpichs.notes, number);
}

/* Rows of arrays of that strength. */
static void run_rows(int least, int most)
{
    static char memory[8 << 20];
    struct enq_lane lane;
    MPI_Comm plain;
    int size;
    void *at;

    enq_lane_open(&lane);
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    MPI_Comm_set_errhandler(plain, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Buffer_attach(memory, sizeof(memory));
    for (int i = 0; i < ROWS; i++)
        if (rows[i].strength >= least && rows[i].strength <= most)
            run_row(&lane, plain, i);
    MPI_Buffer_detach(&at, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&plain);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    return matrix_main(argc, argv, "enq persist_matrix", run_rows);
}
