/* Long messages that one end comes late for, that wildcards match, that do not
 * fit, that go to many at once. */
#include <stdlib.h>
#include <string.h>

#include "tests/enq/pull.h"

enum { TAG = 1 };

enum { EARLY = 8 };

/* All sends are reached before a receive is called; the last is taken first. */
static void receives_called_late(void)
{
    struct enq_lane lane;
    struct pull_set set;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 1; lap++) {
        pull_set_open(&set, EARLY, PULL_LONG);
        if (enq.rank == 0)
            pull_set_fill(&set, 1);
        for (int i = 0; i < EARLY && enq.rank == 0; i++)
            enq_isend(&lane, &set.buffer[i], 1, i, &set.request[i]);
        if (enq.rank == 0) {
            enq_sync(&lane);
            enq_waitall(EARLY, set.request);
            enq_tell(1);
        } else if (enq.rank == 1) {
            enq_hear(0);
        }
        for (int i = EARLY - 1; i >= 0 && enq.rank == 1; i--)
            enq_recv(&lane, &set.buffer[i], 0, i, &set.status[i]);
        enq_sync(&lane);
        for (int i = 0; i < EARLY && enq.rank == 1; i++)
            enq_status_is(&set.status[i], 0, i, PULL_LONG);
        if (enq.rank < 2)
            pull_set_expect(&set, 1);
        pull_set_close(&set);
    }
    enq_lane_close(&lane);
}

enum { PIECE = PULL_LIMIT + 16 };

static void piece_start(const struct enq_lane *lane, struct enq_buffer *all,
                        int i, MPI_Request *request)
{
    char *at = all->at + (size_t)i * PIECE;

    if (enq.rank == 0)
        ENQ_OK(MPIX_Isend_enqueue(at, PIECE, MPI_BYTE, 1, i % 2, lane->comm,
                                  request));
    else
        ENQ_OK(MPIX_Irecv_enqueue(at, PIECE, MPI_BYTE, 0, i % 2, lane->comm,
                                  request));
}

/* Far more of them, unexpected, than any ring or table holds; those with an
 * odd number are received first. All of one buffer, so none may go astray. */
static void more_than_fit(void)
{
    int count = enq.laps * 20;
    MPI_Request *requests = malloc((size_t)count * sizeof(MPI_Request));
    struct enq_lane lane;
    struct enq_buffer all;

    CHECK(requests);
    enq_lane_open(&lane);
    enq_buffer_open(&all, (size_t)count * PIECE);
    if (enq.rank == 0) {
        enq_fill(&all, 1);
        for (int i = 0; i < count; i++)
            piece_start(&lane, &all, i, &requests[i]);
        enq_waitall(count, requests);
        enq_tell(1);
    } else if (enq.rank == 1) {
        enq_hear(0);
        for (int i = 1; i < count; i += 2)
            piece_start(&lane, &all, i, &requests[i / 2]);
        for (int i = 0; i < count; i += 2)
            piece_start(&lane, &all, i, &requests[count / 2 + i / 2]);
        enq_waitall(count, requests);
    }
    enq_sync(&lane);
    if (enq.rank == 1)
        enq_expect(&all, all.bytes, 1);
    enq_lane_close(&lane);
    enq_buffer_close(&all);
    free(requests);
}

/* The receiver's stream stands before its receive: until it goes on, nothing
 * is written, whoever asks, and the buffer is as the stream left it. */
static void receive_reached_late(const struct enq_lane *lane, bool host_asks)
{
    struct enq_buffer b, before;
    struct enq_gate gate;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    enq_gate_make(&gate);
    enq_buffer_open(&b, PULL_LONG);
    enq_buffer_open(&before, PULL_LONG);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(lane, &b, 1, TAG);
        enq_tell(1);
    } else if (enq.rank == 1) {
        enq_gate_hold(&gate, lane->cu);
        enq_kernel_copy(lane->cu, &before, &b);
        enq_irecv(lane, &b, 0, TAG, &request);
        enq_hear(0);
        for (int i = 0; i < 500 && host_asks; i++) {
            ENQ_OK(MPI_Test(&request, &flag, &status));
            CHECK(!flag);
        }
        enq_expect(&b, 0, 1);
        enq_gate_open(&gate);
        if (host_asks)
            ENQ_OK(MPI_Wait(&request, &status));
        else
            enq_wait(&request, &status);
    }
    enq_sync(lane);
    if (enq.rank == 1) {
        enq_status_is(&status, 0, TAG, PULL_LONG);
        enq_expect(&b, PULL_LONG, 1);
        enq_expect(&before, 0, 1);
    }
    enq_buffer_close(&before);
    enq_buffer_close(&b);
    enq_gate_free(&gate);
}

static void receives_reached_late(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 2; lap++)
        receive_reached_late(&lane, lap % 2);
    enq_lane_close(&lane);
}

/* The sender's stream stands, and then writes what is sent: whoever waits for
 * it has that. way: in its stream, the host, an ordinary receive. */
static void send_reached_late(const struct enq_lane *lane, int way)
{
    struct enq_buffer b, later;
    struct enq_gate gate;
    MPI_Request request;
    MPI_Status status;

    enq_gate_make(&gate);
    enq_buffer_open(&b, PULL_LONG);
    enq_buffer_open(&later, PULL_LONG);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_fill(&later, 2);
        enq_gate_hold(&gate, lane->cu);
        enq_kernel_copy(lane->cu, &b, &later);
        enq_send(lane, &b, 1, TAG);
        enq_kernel_set(lane->cu, &b, 0xdd);
        enq_hear(1);
        enq_gate_open(&gate);
    } else if (enq.rank == 1) {
        if (way < 2)
            enq_irecv(lane, &b, 0, TAG, &request);
        if (way == 0)
            enq_wait(&request, &status);
        enq_tell(0);
        if (way == 1)
            ENQ_OK(MPI_Wait(&request, &status));
        if (way == 2)
            ENQ_OK(MPI_Recv(b.at, PULL_LONG, MPI_BYTE, 0, TAG, lane->comm,
                            &status));
    }
    enq_sync(lane);
    if (enq.rank == 1) {
        enq_status_is(&status, 0, TAG, PULL_LONG);
        enq_expect(&b, PULL_LONG, 2);
    }
    enq_buffer_close(&later);
    enq_buffer_close(&b);
    enq_gate_free(&gate);
}

static void sends_reached_late(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 3; lap++)
        send_reached_late(&lane, lap % 3);
    enq_lane_close(&lane);
}

/* To rank 1 from each other rank; a length says which message it is. */
enum { EACH = 6 };

static size_t any_bytes(int rank, int i)
{
    return PULL_LIMIT + 1 + (size_t)(rank * 3000 + i * 400);
}

static void any_send(const struct enq_lane *lane, struct pull_set *set,
                     bool blocking)
{
    for (int i = 0; i < EACH; i++)
        pull_set_add(set, any_bytes(enq.rank, i));
    pull_set_fill(set, pull_message(enq.rank, 0));
    for (int i = 0; i < EACH; i++) {
        if (blocking)
            enq_send(lane, &set->buffer[i], 1, i);
        else
            enq_isend(lane, &set->buffer[i], 1, i, &set->request[i]);
    }
    if (!blocking)
        enq_waitall(EACH, set->request);
    enq_sync(lane);
}

static void any_recv(const struct enq_lane *lane, struct pull_set *set,
                     bool blocking)
{
    int count = EACH * (enq.size - 1);

    for (int i = 0; i < count; i++) {
        pull_set_add(set, any_bytes(enq.size, EACH));
        if (blocking)
            enq_recv(lane, &set->buffer[i], MPI_ANY_SOURCE, MPI_ANY_TAG,
                     &set->status[i]);
        else
            enq_irecv(lane, &set->buffer[i], MPI_ANY_SOURCE, MPI_ANY_TAG,
                      &set->request[i]);
    }
    if (!blocking)
        ENQ_OK(MPIX_Waitall_enqueue(count, set->request, set->status));
    enq_sync(lane);
}

/* Each is whole, and those of one rank are in the order of its calls. */
static void any_expect(struct pull_set *set)
{
    int next[PULL_MOST] = {0};

    for (int i = 0; i < set->count; i++) {
        int source = set->status[i].MPI_SOURCE;
        int number;

        CHECK(source >= 0 && source < enq.size && source != 1);
        number = next[source]++;
        CHECK(number < EACH);
        enq_status_is(&set->status[i], source, number,
                      any_bytes(source, number));
        enq_expect(&set->buffer[i], any_bytes(source, number),
                   pull_message(source, number));
    }
}

static void any_source_and_any_tag(void)
{
    struct enq_lane lane;
    struct pull_set set;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 4; lap++) {
        pull_set_open(&set, 0, 0);
        if (enq.rank == 1) {
            any_recv(&lane, &set, lap % 2);
            any_expect(&set);
        } else {
            any_send(&lane, &set, lap / 2 % 2);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        pull_set_close(&set);
    }
    enq_lane_close(&lane);
}

/* Posted for less than the message, even than the limit, for as much, for
 * more: what does not fit is told, each message by itself. */
static const size_t posted[] = {
    100, 0, PULL_LIMIT - 1, PULL_LONG, PULL_LONG - 1, PULL_LONG + 100};
enum { POSTED = 6 };

static void short_ones_expect(const struct pull_set *set)
{
    for (int i = 0; i < POSTED; i++) {
        bool fits = posted[i] >= PULL_LONG;

        CHECK(set->status[i].MPI_ERROR ==
              (fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
        CHECK(set->status[i].MPI_SOURCE == 0 && set->status[i].MPI_TAG == i);
        enq_expect(&set->buffer[i], fits ? PULL_LONG : posted[i],
                   (unsigned)i + 1);
    }
}

static void short_ones(const struct enq_lane *lane, bool host_waits, bool late)
{
    struct pull_set set;

    pull_set_open(&set, 0, 0);
    for (int i = 0; i < POSTED; i++)
        pull_set_add(&set, enq.rank == 0 ? PULL_LONG : posted[i]);
    if (enq.rank == 0) {
        pull_set_fill(&set, 1);
        for (int i = 0; i < POSTED; i++)
            enq_isend(lane, &set.buffer[i], 1, i, &set.request[i]);
        if (late)
            enq_tell(1);
        enq_waitall(POSTED, set.request);
    } else if (enq.rank == 1) {
        memset(set.status, 0xff, sizeof(set.status));
        if (late)
            enq_hear(0);
        for (int i = 0; i < POSTED; i++)
            enq_irecv(lane, &set.buffer[i], 0, i, &set.request[i]);
        if (host_waits)
            CHECK(enq_class(MPI_Waitall(POSTED, set.request, set.status)) ==
                  MPI_ERR_IN_STATUS);
        else
            ENQ_OK(MPIX_Waitall_enqueue(POSTED, set.request, set.status));
    }
    enq_sync(lane);
    if (enq.rank == 1)
        short_ones_expect(&set);
    pull_set_close(&set);
}

/* The handler is told, and so is who synchronizes; later messages match. */
static void truncated(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, PULL_LONG);
    enq_errors_count(lane.comm);
    for (int i = 0; i < 4; i++)
        short_ones(&lane, i % 2, i / 2);
    if (enq.rank == 0) {
        enq_fill(&b, 7);
        enq_send(&lane, &b, 1, TAG);
    } else if (enq.rank == 1) {
        MPIX_Recv_enqueue(b.at, PULL_LONG, MPI_BYTE, 0, TAG, lane.comm,
                          MPI_STATUS_IGNORE);
    }
    enq_sync(&lane);
    if (enq.rank == 1)
        enq_expect(&b, PULL_LONG, 7);
    if (enq.rank == 1)
        CHECK(enq_class(MPIX_Stream_synchronize(lane.stream, 30)) ==
              MPI_ERR_TRUNCATE);
    CHECK(enq_errors() > 0 || enq.rank != 1);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

/* Lengths tell who sent what to whom. */
static size_t crowd_bytes(int from, int to, int i)
{
    return i % 3 == 2 ? 64 : PULL_LIMIT + (size_t)(from * 900 + to * 90 + i);
}

enum { TO_EACH = 3, MOST_RANKS = 8 };

struct crowd {
    struct enq_buffer out[MOST_RANKS][TO_EACH], in[MOST_RANKS][TO_EACH];
    MPI_Request request[2 * MOST_RANKS * TO_EACH];
    int requests;
};

static struct crowd crowd;

static void crowd_open(void)
{
    for (int r = 0; r < enq.size; r++)
        for (int i = 0; i < TO_EACH; i++) {
            enq_buffer_open(&crowd.out[r][i], crowd_bytes(enq.rank, r, i));
            enq_buffer_open(&crowd.in[r][i], crowd_bytes(r, enq.rank, i));
            enq_fill(&crowd.out[r][i], pull_message(enq.rank, r * TO_EACH + i));
        }
}

static void crowd_close(void)
{
    for (int r = 0; r < enq.size; r++)
        for (int i = 0; i < TO_EACH; i++) {
            enq_expect(&crowd.in[r][i], crowd.in[r][i].bytes,
                       pull_message(r, enq.rank * TO_EACH + i));
            enq_buffer_close(&crowd.in[r][i]);
            enq_buffer_close(&crowd.out[r][i]);
        }
}

/* Each rank's order of the others, and of sends and receives, is its own. */
static void crowd_start(const struct enq_lane *lane, int lap)
{
    crowd.requests = 0;
    for (int k = 0; k < enq.size; k++) {
        int to = (enq.rank + k * (lap % 2 ? 1 : enq.size - 1)) % enq.size;
        int from = (enq.rank + k) % enq.size;

        for (int i = 0; i < TO_EACH; i++) {
            enq_isend(lane, &crowd.out[to][i], to, TAG,
                      &crowd.request[crowd.requests++]);
            enq_irecv(lane, &crowd.in[from][i], from, TAG,
                      &crowd.request[crowd.requests++]);
        }
    }
}

static void all_to_all(void)
{
    struct enq_lane lane;

    CHECK(enq.size <= MOST_RANKS);
    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 2; lap++) {
        crowd_open();
        crowd_start(&lane, lap);
        for (int i = 0; i < crowd.requests && lap % 3 == 0; i++)
            enq_wait(&crowd.request[i], MPI_STATUS_IGNORE);
        if (lap % 3 != 0)
            enq_waitall(crowd.requests, crowd.request);
        enq_sync(&lane);
        crowd_close();
    }
    enq_lane_close(&lane);
}

static void send_to_others(const struct enq_lane *lane, struct pull_set *set)
{
    for (int to = 0; to < enq.size; to++)
        if (to != enq.rank)
            enq_isend(lane, &set->buffer[0], to, TAG, &set->request[to]);
    ENQ_OK(MPIX_Waitall_enqueue(enq.size, set->request, set->status));
    enq_kernel_set(lane->cu, &set->buffer[0], 0xdd);
}

/* One buffer to all others at once: it is free when the last one has it. */
static void one_buffer_to_all(void)
{
    struct enq_lane lane;
    struct pull_set set;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps; lap++) {
        int root = lap % enq.size;

        pull_set_open(&set, enq.size, PULL_LONG);
        if (enq.rank == root) {
            enq_fill(&set.buffer[0], (unsigned)lap + 1);
            send_to_others(&lane, &set);
        } else {
            enq_recv(&lane, &set.buffer[0], root, TAG, MPI_STATUS_IGNORE);
        }
        enq_sync(&lane);
        if (enq.rank != root)
            enq_expect(&set.buffer[0], PULL_LONG, (unsigned)lap + 1);
        pull_set_close(&set);
    }
    enq_lane_close(&lane);
}

const struct enq_case pull_match_cases[] = {
    {"receives_called_late", 2, receives_called_late},
    {"more_than_fit", 2, more_than_fit},
    {"receives_reached_late", 2, receives_reached_late},
    {"sends_reached_late", 2, sends_reached_late},
    {"any_source_and_any_tag", 2, any_source_and_any_tag},
    {"truncated", 2, truncated},
    {"all_to_all", 2, all_to_all},
    {"one_buffer_to_all", 2, one_buffer_to_all},
    {0},
};
