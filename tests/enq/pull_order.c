/* Long messages between streams: pairs, windows, crossings, crowds. */
#include "tests/enq/pull.h"

enum { LAPS = 4, TAG = 1 };

/* Each lap's message is another one; all laps are enqueued at once. */
static void ping_pong_of(const struct enq_lane *lane, size_t bytes)
{
    struct pull_set out, in;
    int peer = pull_peer();

    pull_set_open(&out, LAPS, bytes);
    pull_set_open(&in, LAPS, bytes);
    pull_set_fill(&out, pull_message(enq.rank, 0));
    for (int i = 0; i < LAPS && peer >= 0; i++) {
        if (enq.rank % 2 == 0)
            enq_send(lane, &out.buffer[i], peer, i);
        enq_recv(lane, &in.buffer[i], peer, i, &in.status[i]);
        if (enq.rank % 2 == 1)
            enq_send(lane, &in.buffer[i], peer, i);
    }
    enq_sync(lane);
    for (int i = 0; i < LAPS && peer >= 0; i++)
        enq_status_is(&in.status[i], peer, i, bytes);
    if (peer >= 0)
        pull_set_expect(&in, pull_message(enq.rank & ~1, 0));
    pull_set_close(&in);
    pull_set_close(&out);
}

static void ping_pong(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (const size_t *size = pull_sizes(); *size != ENQ_NO_SIZE; size++)
        ping_pong_of(&lane, *size);
    enq_lane_close(&lane);
}

enum { WAVES = 3, WINDOW = 12 };

/* Everything of a pair: each wave's bytes come from somewhere else into the
 * same buffers, and go on to somewhere else. */
struct waves {
    struct pull_set source[WAVES], got[WAVES], out, in;
    MPI_Request request[2 * WINDOW];
    MPI_Status status[WAVES][2 * WINDOW];
};

static struct waves waves;

static size_t wave_bytes(int i)
{
    return PULL_LIMIT - 2 + (size_t)(i * i) * 701;
}

static void waves_open(void)
{
    struct pull_set *sets[] = {&waves.out, &waves.in};

    for (int w = 0; w < WAVES; w++) {
        pull_set_open(&waves.source[w], 0, 0);
        pull_set_open(&waves.got[w], 0, 0);
        for (int i = 0; i < WINDOW; i++) {
            pull_set_add(&waves.source[w], wave_bytes(i));
            pull_set_add(&waves.got[w], wave_bytes(i));
        }
        pull_set_fill(&waves.source[w], pull_message(enq.rank, w * WINDOW));
    }
    for (int k = 0; k < 2; k++) {
        pull_set_open(sets[k], 0, 0);
        for (int i = 0; i < WINDOW; i++)
            pull_set_add(sets[k], wave_bytes(i));
    }
}

static void waves_close(void)
{
    pull_set_close(&waves.in);
    pull_set_close(&waves.out);
    for (int w = WAVES - 1; w >= 0; w--) {
        pull_set_close(&waves.got[w]);
        pull_set_close(&waves.source[w]);
    }
}

static void wave_start(const struct enq_lane *lane, int peer, bool receives)
{
    for (int i = 0; i < WINDOW; i++) {
        if (receives)
            enq_irecv(lane, &waves.in.buffer[i], peer, i, &waves.request[i]);
        else
            enq_isend(lane, &waves.out.buffer[i], peer, i,
                      &waves.request[WINDOW + i]);
    }
}

static void wave_run(const struct enq_lane *lane, int w, int peer)
{
    for (int i = 0; i < WINDOW; i++)
        enq_kernel_copy(lane->cu, &waves.out.buffer[i],
                        &waves.source[w].buffer[i]);
    wave_start(lane, peer, w % 2 == 0);
    wave_start(lane, peer, w % 2 == 1);
    ENQ_OK(MPIX_Waitall_enqueue(2 * WINDOW, waves.request, waves.status[w]));
    for (int i = 0; i < WINDOW; i++) {
        enq_kernel_copy(lane->cu, &waves.got[w].buffer[i], &waves.in.buffer[i]);
        enq_kernel_set(lane->cu, &waves.in.buffer[i], 0xee);
        enq_kernel_set(lane->cu, &waves.out.buffer[i], 0xdd);
    }
}

static void waves_expect(int peer)
{
    for (int w = 0; w < WAVES; w++) {
        pull_set_expect(&waves.got[w], pull_message(peer, w * WINDOW));
        for (int i = 0; i < WINDOW; i++)
            enq_status_is(&waves.status[w][i], peer, i, wave_bytes(i));
    }
}

/* Waves of messages both ways, enqueued without a look at the last one. */
static void windows_both_ways(void)
{
    struct enq_lane lane;
    int peer = pull_peer();

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 10 + 1; lap++) {
        waves_open();
        for (int w = 0; w < WAVES && peer >= 0; w++)
            wave_run(&lane, w, peer);
        enq_sync(&lane);
        if (peer >= 0)
            waves_expect(peer);
        waves_close();
    }
    enq_lane_close(&lane);
}

/* Orders of a send and a receive of which MPI says that they end against each
 * other, in any combination. */
struct head {
    const struct enq_lane *lane;
    struct enq_buffer out, in;
    MPI_Request send, recv;
    MPI_Status status;
    int peer;
};

static void head_isend_irecv(struct head *h)
{
    enq_isend(h->lane, &h->out, h->peer, TAG, &h->send);
    enq_irecv(h->lane, &h->in, h->peer, TAG, &h->recv);
    enq_wait(&h->send, MPI_STATUS_IGNORE);
    enq_wait(&h->recv, &h->status);
}

static void head_irecv_isend(struct head *h)
{
    enq_irecv(h->lane, &h->in, h->peer, TAG, &h->recv);
    enq_isend(h->lane, &h->out, h->peer, TAG, &h->send);
    enq_wait(&h->send, MPI_STATUS_IGNORE);
    enq_wait(&h->recv, &h->status);
}

static void head_irecv_send(struct head *h)
{
    enq_irecv(h->lane, &h->in, h->peer, TAG, &h->recv);
    enq_send(h->lane, &h->out, h->peer, TAG);
    enq_wait(&h->recv, &h->status);
}

static void head_isend_recv(struct head *h)
{
    enq_isend(h->lane, &h->out, h->peer, TAG, &h->send);
    enq_recv(h->lane, &h->in, h->peer, TAG, &h->status);
    enq_wait(&h->send, MPI_STATUS_IGNORE);
}

static void (*const heads[])(struct head *) = {
    head_isend_irecv, head_irecv_isend, head_irecv_send, head_isend_recv};
enum { HEADS = 4 };

static void head_of(const struct enq_lane *lane, size_t bytes, int both)
{
    struct head h = {.lane = lane, .peer = pull_peer()};
    int mine = enq.rank % 2 ? both % HEADS : both / HEADS;

    enq_buffer_open(&h.out, bytes);
    enq_buffer_open(&h.in, bytes);
    if (h.peer >= 0) {
        enq_fill(&h.out, pull_message(enq.rank, both));
        heads[mine](&h);
    }
    enq_sync(lane);
    if (h.peer >= 0) {
        enq_status_is(&h.status, h.peer, TAG, bytes);
        enq_expect(&h.in, bytes, pull_message(h.peer, both));
    }
    enq_buffer_close(&h.in);
    enq_buffer_close(&h.out);
}

static void head_to_head(void)
{
    static const size_t sizes[] = {64, PULL_LIMIT, PULL_LONG, ENQ_LARGE};
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int s = 0; s < 4; s++)
        for (int both = 0; both < HEADS * HEADS; both++)
            head_of(&lane, sizes[s], both);
    enq_lane_close(&lane);
}

enum { CROSSED = 8 };

static size_t crossed_bytes(int i, bool mixed)
{
    return mixed && i % 3 == 1 ? 64 : PULL_LONG + (size_t)i * 64;
}

/* Sent one after the other, the last one first; all receives are called before
 * one is waited for, together or one by one from the first. */
static void crossing(const struct enq_lane *lane, int count, bool together,
                     bool mixed)
{
    struct pull_set set;

    pull_set_open(&set, 0, 0);
    for (int i = 0; i < count; i++)
        pull_set_add(&set, crossed_bytes(i, mixed));
    if (enq.rank == 0)
        pull_set_fill(&set, 1);
    for (int i = count - 1; i >= 0 && enq.rank == 0; i--)
        enq_send(lane, &set.buffer[i], 1, i);
    for (int i = 0; i < count && enq.rank == 1; i++)
        enq_irecv(lane, &set.buffer[i], 0, i, &set.request[i]);
    if (enq.rank == 1 && together)
        ENQ_OK(MPIX_Waitall_enqueue(count, set.request, set.status));
    for (int i = 0; i < count && enq.rank == 1 && !together; i++)
        enq_wait(&set.request[i], &set.status[i]);
    enq_sync(lane);
    for (int i = 0; i < count && enq.rank == 1; i++)
        enq_status_is(&set.status[i], 0, i, set.buffer[i].bytes);
    if (enq.rank < 2)
        pull_set_expect(&set, 1);
    pull_set_close(&set);
}

static void crossings(bool together)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 10 + 1; lap++) {
        crossing(&lane, 2, together, false);
        crossing(&lane, 2, together, true);
        crossing(&lane, CROSSED, together, lap % 2);
    }
    enq_lane_close(&lane);
}

static void crossed_sends_meet_one_wait(void)
{
    crossings(true);
}

static void crossed_sends_meet_waits_in_order(void)
{
    crossings(false);
}

static unsigned random_next(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static size_t random_bytes(unsigned *state)
{
    static const size_t some[] = {
        0,  1,         PULL_LIMIT - 1, PULL_LIMIT, PULL_LIMIT + 1,
        17, PULL_LONG, 131072};

    return some[random_next(state) % 8];
}

enum { MIXED = 24 };

/* One tag, any lengths, room for more than comes: the order of the calls. */
static void mixed(const struct enq_lane *lane, unsigned *state, bool blocking)
{
    struct pull_set set;
    size_t bytes[MIXED];

    pull_set_open(&set, 0, 0);
    for (int i = 0; i < MIXED; i++) {
        size_t more = random_next(state) % 100;

        bytes[i] = random_bytes(state);
        pull_set_add(&set, bytes[i] + (enq.rank == 1 ? more : 0));
    }
    if (enq.rank == 0)
        pull_set_fill(&set, 1);
    for (int i = 0; i < MIXED; i++) {
        if (enq.rank == 0 && blocking)
            enq_send(lane, &set.buffer[i], 1, TAG);
        else if (enq.rank == 0)
            enq_isend(lane, &set.buffer[i], 1, TAG, &set.request[i]);
        else if (enq.rank == 1 && blocking)
            enq_recv(lane, &set.buffer[i], 0, TAG, &set.status[i]);
        else if (enq.rank == 1)
            enq_irecv(lane, &set.buffer[i], 0, TAG, &set.request[i]);
    }
    if (enq.rank < 2 && !blocking)
        ENQ_OK(MPIX_Waitall_enqueue(MIXED, set.request, set.status));
    enq_sync(lane);
    for (int i = 0; i < MIXED && enq.rank == 1; i++) {
        enq_status_is(&set.status[i], 0, TAG, bytes[i]);
        enq_expect(&set.buffer[i], bytes[i], (unsigned)i + 1);
    }
    pull_set_close(&set);
}

static void mixed_lengths_keep_order(void)
{
    struct enq_lane lane;
    unsigned state = 99;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 2; lap++)
        mixed(&lane, &state, lap % 2);
    enq_lane_close(&lane);
}

static void to_oneself(void)
{
    struct enq_lane lane;
    struct head h = {.lane = &lane, .peer = enq.rank};

    enq_lane_open(&lane);
    for (const size_t *size = pull_sizes(); *size != ENQ_NO_SIZE; size++) {
        enq_buffer_open(&h.out, *size);
        enq_buffer_open(&h.in, *size);
        for (int i = 0; i < HEADS; i++) {
            enq_fill(&h.out, (unsigned)i + 1);
            enq_wipe(&h.in);
            heads[i](&h);
            enq_sync(&lane);
            enq_expect(&h.in, *size, (unsigned)i + 1);
            enq_status_is(&h.status, enq.rank, TAG, *size);
        }
        enq_buffer_close(&h.in);
        enq_buffer_close(&h.out);
    }
    enq_lane_close(&lane);
}

/* The original's message and the duplicate's, received in the other order. */
static void duplicates(void)
{
    struct enq_lane lane, twin;
    struct pull_set set;

    enq_lane_open(&lane);
    twin = lane;
    ENQ_OK(MPI_Comm_dup(lane.comm, &twin.comm));
    enq_lane_warm(&twin);
    for (int lap = 0; lap < enq.laps; lap++) {
        const struct enq_lane *order[] = {lap % 2 ? &twin : &lane,
                                          lap % 2 ? &lane : &twin};

        pull_set_open(&set, 2, PULL_LONG);
        if (enq.rank == 0)
            pull_set_fill(&set, 1);
        for (int i = 0; i < 2 && enq.rank == 0; i++)
            enq_isend(order[i], &set.buffer[i], 1, TAG, &set.request[i]);
        for (int i = 1; i >= 0 && enq.rank == 1; i--)
            enq_irecv(order[i], &set.buffer[i], 0, TAG, &set.request[i]);
        for (int i = 0; i < 2 && enq.rank < 2; i++)
            enq_wait(&set.request[i], MPI_STATUS_IGNORE);
        enq_sync(&lane);
        if (enq.rank < 2)
            pull_set_expect(&set, 1);
        pull_set_close(&set);
    }
    ENQ_OK(MPI_Comm_free(&twin.comm));
    enq_lane_close(&lane);
}

/* Two communicators of the same two streams, by index one way and the other:
 * enqueued calls are the first one's, whichever that is; an ordinary receive
 * names it. */
static void multiplex_run(const struct enq_lane *lane, MPI_Comm comm)
{
    struct enq_lane first = {lane->cu, lane->stream, comm};
    struct pull_set set;

    pull_set_open(&set, 3, PULL_LONG);
    if (enq.rank == 0)
        pull_set_fill(&set, 1);
    for (int i = 0; i < 3 && enq.rank == 0; i++)
        enq_isend(&first, &set.buffer[i], 1, TAG, &set.request[i]);
    if (enq.rank == 0)
        enq_waitall(3, set.request);
    for (int i = 0; i < 3 && enq.rank == 1; i++) {
        if (i != 1)
            enq_irecv(&first, &set.buffer[i], 0, TAG, &set.request[i]);
        else
            ENQ_OK(MPIX_Stream_irecv(set.buffer[i].at, PULL_LONG, MPI_BYTE, 0,
                                     TAG, comm, 0, 0, &set.request[i]));
    }
    if (enq.rank == 1) {
        ENQ_OK(MPI_Wait(&set.request[1], &set.status[1]));
        ENQ_OK(MPIX_Waitall_enqueue(3, set.request, set.status));
    }
    enq_sync(lane);
    if (enq.rank < 2)
        pull_set_expect(&set, 1);
    pull_set_close(&set);
}

static void two_streams_by_index(void)
{
    struct enq_lane lanes[2];
    MPI_Comm comm[2];

    for (int i = 0; i < 2; i++)
        enq_lane_open(&lanes[i]);
    for (int i = 0; i < 2; i++) {
        MPIX_Stream streams[] = {lanes[i].stream, lanes[1 - i].stream};
        struct enq_lane first = lanes[i];

        ENQ_OK(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 2, streams,
                                                 &comm[i]));
        first.comm = comm[i];
        enq_lane_warm(&first);
    }
    for (int lap = 0; lap < enq.laps; lap++)
        multiplex_run(&lanes[lap % 2], comm[lap % 2]);
    for (int i = 0; i < 2; i++)
        ENQ_OK(MPI_Comm_free(&comm[i]));
    for (int i = 0; i < 2; i++)
        enq_lane_close(&lanes[i]);
}

const struct enq_case pull_order_cases[] = {
    {"ping_pong", 2, ping_pong},
    {"windows_both_ways", 2, windows_both_ways},
    {"head_to_head", 2, head_to_head},
    {"crossed_sends_meet_one_wait", 2, crossed_sends_meet_one_wait},
    {"crossed_sends_meet_waits_in_order", 2, crossed_sends_meet_waits_in_order},
    {"mixed_lengths_keep_order", 2, mixed_lengths_keep_order},
    {"to_oneself", 1, to_oneself},
    {"duplicates", 2, duplicates},
    {"two_streams_by_index", 2, two_streams_by_index},
    {0},
};
