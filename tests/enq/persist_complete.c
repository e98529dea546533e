/* Persistent requests: the ways to complete two of them, and what is noted. */
#include "tests/enq/persist_matrix.h"

void persist_note(struct run *run, int value, int line)
{
    struct notes *notes = &run->notes;

    CHECK(notes->count < NOTES);
    notes->line[notes->count] = line;
    notes->value[notes->count++] = value;
}

void persist_note_status(struct run *run, MPI_Status *status)
{
    int count = -1, flag = -1;

    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &flag);
    NOTE(run, flag);
    NOTE(run, flag ? 0 : status->MPI_SOURCE);
    NOTE(run, flag ? 0 : status->MPI_TAG);
    NOTE(run, flag ? 0 : count);
}

bool persist_by_stream(const struct run *run, int side)
{
    const struct row *row = run->row;

    return run->lane && (side == TO ? row->sent : row->received) == BY_STREAM;
}

bool persist_left_to_stream(const struct run *run, int side)
{
    switch (run->row->complete) {
    case STREAM:
    case STREAM_ALL:
        return true;
    case SENT_BY_STREAM:
        return side == TO;
    case RECEIVED_BY_STREAM:
        return side == FROM;
    default:
        return false;
    }
}

void persist_let_stream_go(struct run *run)
{
    if (run->lane)
        enq_gate_open(&run->gate);
}

/* Completions: the requests among others, of which nothing is to come. */

enum { NOTHING, SENDS, IDLE, RECEIVES, ALL };
static const int sides[ALL] = {-1, TO, -1, FROM};

static void gather(const struct run *run, MPI_Request *all)
{
    static int word;

    all[NOTHING] = MPI_REQUEST_NULL;
    all[SENDS] = run->request[TO];
    all[RECEIVES] = run->request[FROM];
    MPI_Recv_init(&word, 1, MPI_INT, MPI_PROC_NULL, 0, run->comm, &all[IDLE]);
}

static void scatter(struct run *run, MPI_Request *all)
{
    NOTE(run, all[NOTHING] == MPI_REQUEST_NULL);
    run->request[TO] = all[SENDS];
    run->request[FROM] = all[RECEIVES];
    MPI_Request_free(&all[IDLE]);
}

/* A call has completed one of the array. */
static void completed(struct run *run, int lap, int index, int code,
                      const MPI_Status *status)
{
    CHECK(index == SENDS || index == RECEIVES);
    run->code[lap][sides[index]] = code;
    run->status[lap][sides[index]] = *status;
}

static void complete_all(struct run *run, int lap, bool tests)
{
    MPI_Status status[ALL];
    MPI_Request all[ALL];
    int rc = MPI_SUCCESS, flag = 0;

    gather(run, all);
    if (!tests)
        rc = MPI_Waitall(ALL, all, status);
    while (tests && rc == MPI_SUCCESS && !flag)
        rc = MPI_Testall(ALL, all, &flag, status);
    scatter(run, all);
    completed(run, lap, SENDS, rc, &status[SENDS]);
    completed(run, lap, RECEIVES, rc, &status[RECEIVES]);
    persist_note_status(run, &status[NOTHING]);
    persist_note_status(run, &status[IDLE]);
}

static int any(bool tests, MPI_Request *all, int *index, MPI_Status *status)
{
    int rc = MPI_SUCCESS, flag = 0;

    if (!tests)
        return MPI_Waitany(ALL, all, index, status);
    while (rc == MPI_SUCCESS && !flag)
        rc = MPI_Testany(ALL, all, index, &flag, status);
    return rc;
}

static void complete_any(struct run *run, int lap, bool tests)
{
    MPI_Status status;
    MPI_Request all[ALL];
    int rc, index;

    gather(run, all);
    for (int i = 0; i < BOTH; i++) {
        rc = any(tests, all, &index, &status);
        completed(run, lap, index, rc, &status);
    }
    NOTE(run, enq_class(any(tests, all, &index, &status)));
    NOTE(run, index);
    if (run->lane) /* MPICH 4.0.2 leaves it as it was */
        enq_status_is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    scatter(run, all);
}

static void complete_some(struct run *run, int lap, bool tests)
{
    MPI_Status status[ALL];
    MPI_Request all[ALL];
    int indices[ALL], count, rc;

    gather(run, all);
    for (int left = BOTH; left > 0; left -= count) {
        rc = tests ? MPI_Testsome(ALL, all, &count, indices, status)
                   : MPI_Waitsome(ALL, all, &count, indices, status);
        CHECK(count >= 0 && count <= left);
        for (int i = 0; i < count; i++)
            completed(run, lap, indices[i], rc, &status[i]);
    }
    rc = tests ? MPI_Testsome(ALL, all, &count, indices, status)
               : MPI_Waitsome(ALL, all, &count, indices, status);
    NOTE(run, enq_class(rc));
    NOTE(run, count);
    scatter(run, all);
}

static void complete_one(struct run *run, int lap, int side)
{
    MPI_Request *request = &run->request[side];
    MPI_Status *status = &run->status[lap][side];
    enum row_complete way = run->row->complete;
    int rc = MPI_SUCCESS, flag = way != TEST && way != GET_STATUS;

    while (rc == MPI_SUCCESS && !flag)
        rc = way == TEST ? MPI_Test(request, &flag, status)
                         : MPI_Request_get_status(*request, &flag, status);
    if (way != TEST)
        rc = MPI_Wait(request, status);
    run->code[lap][side] = rc;
}

/* Not over, since its stream has not come to its start. */
static void is_under_way(struct run *run, int side)
{
    int flag = 1;

    if (run->row->gate == OPEN || !persist_by_stream(run, side) ||
        __atomic_load_n(run->gate.word, __ATOMIC_ACQUIRE))
        return;
    ENQ_OK(MPI_Test(&run->request[side], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

static void hand_over(struct run *run, int lap, int side)
{
    run->code[lap][side] =
        run->lane
            ? MPIX_Wait_enqueue(&run->request[side], &run->status[lap][side])
            : MPI_Wait(&run->request[side], &run->status[lap][side]);
    if (run->lane)
        is_under_way(run, side);
}

/* The statuses of an array must live until the stream has passed. */
static void hand_over_all(struct run *run, int lap)
{
    MPI_Request both[BOTH] = {run->request[TO], run->request[FROM]};
    int rc = run->lane ? MPIX_Waitall_enqueue(BOTH, both, run->status[lap])
                       : MPI_Waitall(BOTH, both, run->status[lap]);

    run->code[lap][TO] = run->code[lap][FROM] = rc;
    NOTE(run, both[TO] == run->request[TO] && both[FROM] == run->request[FROM]);
    for (int side = 0; side < BOTH && run->lane; side++)
        is_under_way(run, side);
}

static void complete_by_host(struct run *run, int lap)
{
    enum row_complete way = run->row->complete;

    if (way == WAITALL || way == TESTALL) {
        complete_all(run, lap, way == TESTALL);
    } else if (way == WAITANY || way == TESTANY) {
        complete_any(run, lap, way == TESTANY);
    } else if (way == WAITSOME || way == TESTSOME) {
        complete_some(run, lap, way == TESTSOME);
    } else {
        complete_one(run, lap, TO);
        complete_one(run, lap, FROM);
    }
}

void persist_complete(struct run *run, int lap)
{
    for (int side = 0; side < BOTH; side++)
        run->streamed[side] = persist_left_to_stream(run, side) && run->lane;
    if (run->row->complete == STREAM_ALL) {
        hand_over_all(run, lap);
        return;
    }
    for (int side = 0; side < BOTH; side++)
        if (persist_left_to_stream(run, side))
            hand_over(run, lap, side);
    if (persist_left_to_stream(run, TO) && persist_left_to_stream(run, FROM))
        return;
    persist_let_stream_go(run);
    if (!persist_left_to_stream(run, TO) && !persist_left_to_stream(run, FROM))
        complete_by_host(run, lap);
    else
        complete_one(run, lap, persist_left_to_stream(run, TO) ? FROM : TO);
}
