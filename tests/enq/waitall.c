/* Waits for many operations at once: windows of messages, all kinds of them in
 * one call, streams that wait for each other's. */
#include <string.h>

#include "tests/enq/enq.h"

/* A message each way: to the rank on the right, from the rank on the left. */
enum kind { DEVICE, PINNED, PAGEABLE, STRIDED, ASKED, KINDS };

struct slot {
    enum kind kind;
    size_t bytes; /* sent; the receive is posted for as many and `more` */
    size_t more;
    struct enq_buffer out, in;
    MPI_Datatype type; /* STRIDED: of the receive */
};

enum { MOST = 220, STRIDE = 16, BLOCK = 8 };

struct window {
    const struct enq_lane *lane;
    int right, left;
    int count;
    struct slot slot[MOST];
    MPI_Request request[2 * MOST + 2];
    MPI_Status status[2 * MOST + 2];
};

static struct window window;

static unsigned random_next(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static enum mgds_test_kind memory_of(enum kind kind)
{
    if (kind == PINNED)
        return MGDS_TEST_PINNED;
    return kind == PAGEABLE ? MGDS_TEST_HOST : MGDS_TEST_DEVICE;
}

/* Received in blocks, with gaps of the same length. */
static void type_make(struct slot *slot)
{
    MPI_Type_vector((int)(slot->bytes / BLOCK), BLOCK, STRIDE, MPI_BYTE,
                    &slot->type);
    MPI_Type_commit(&slot->type);
}

static void slot_open(struct slot *slot, enum kind kind, size_t bytes,
                      size_t more)
{
    if (kind == STRIDED) {
        bytes = bytes / BLOCK * BLOCK;
        more = bytes;
    }
    *slot = (struct slot){.kind = kind, .bytes = bytes, .more = more};
    enq_buffer_open_kind(&slot->out, bytes, memory_of(kind));
    enq_buffer_open_kind(&slot->in, bytes + more, memory_of(kind));
    if (kind == STRIDED)
        type_make(slot);
}

static void slot_close(struct slot *slot)
{
    enq_buffer_close(&slot->out);
    enq_buffer_close(&slot->in);
    if (slot->kind == STRIDED)
        MPI_Type_free(&slot->type);
}

static void window_open(const struct enq_lane *lane)
{
    window.lane = lane;
    window.right = (enq.rank + 1) % enq.size;
    window.left = (enq.rank + enq.size - 1) % enq.size;
    window.count = 0;
}

static void add(enum kind kind, size_t bytes, size_t more)
{
    CHECK(window.count < MOST);
    slot_open(&window.slot[window.count++], kind, bytes, more);
}

static void window_close(void)
{
    for (int i = 0; i < window.count; i++)
        slot_close(&window.slot[i]);
}

/* Messages of the rank on the left differ from those of others. */
static unsigned message_of(int rank, int i)
{
    return 1 + (unsigned)(rank * MOST + i);
}

static void start_receive(int i)
{
    struct slot *slot = &window.slot[i];
    MPI_Request *request = &window.request[(size_t)2 * (size_t)i];
    int flag = 0;

    if (slot->kind != STRIDED) {
        enq_irecv(window.lane, &slot->in, window.left, i, request);
    } else {
        ENQ_OK(MPIX_Irecv_enqueue(slot->in.at, 1, slot->type, window.left, i,
                                  window.lane->comm, request));
    }
    if (slot->kind == ASKED)
        ENQ_OK(MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE));
}

static void start_send(int i)
{
    enq_isend(window.lane, &window.slot[i].out, window.right, i,
              &window.request[(size_t)2 * (size_t)i + 1]);
}

/* Every step-th request, round and round: all of them if step is prime to
 * their number. */
static void shuffle(int count, int step)
{
    static MPI_Request before[2 * MOST + 2];

    memcpy(before, window.request, sizeof(before));
    for (int i = 0, from = 0; i < count; i++, from = (from + step) % count)
        window.request[i] = before[from];
}

static void expect_strided(const struct slot *slot, unsigned message)
{
    unsigned char *got = malloc(slot->bytes * 2 + 1);

    CHECK(got);
    enq_read(&slot->in, got, slot->bytes * 2);
    for (size_t i = 0; i < slot->bytes; i++)
        CHECK(got[i / BLOCK * STRIDE + i % BLOCK] == enq_byte(message, i));
    for (size_t i = 0; i < slot->bytes; i++)
        CHECK(got[i / BLOCK * STRIDE + BLOCK + i % BLOCK] ==
              enq_byte(0, 256 + i / BLOCK * STRIDE + BLOCK + i % BLOCK));
    free(got);
}

static void expect(int i)
{
    const struct slot *slot = &window.slot[i];
    unsigned message = message_of(window.left, i);

    if (slot->kind == STRIDED)
        expect_strided(slot, message);
    else
        enq_expect(&slot->in, slot->bytes, message);
}

static void fill(void)
{
    for (int i = 0; i < window.count; i++) {
        enq_fill(&window.slot[i].out, message_of(enq.rank, i));
        enq_wipe(&window.slot[i].in);
    }
}

/* In the order of the program, receives first or sends first. */
static void start_all(bool receives_first)
{
    for (int i = 0; i < window.count && receives_first; i++)
        start_receive(i);
    for (int i = 0; i < window.count; i++)
        start_send(i);
    for (int i = 0; i < window.count && !receives_first; i++)
        start_receive(i);
}

/* A window there and one back, waited for by one call. */
static void run(bool receives_first, int step)
{
    int count = 2 * window.count;

    fill();
    start_all(receives_first);
    window.request[count++] = MPI_REQUEST_NULL;
    shuffle(count, step);
    ENQ_OK(MPIX_Waitall_enqueue(count, window.request, window.status));
    for (int i = 0; i < count; i++)
        CHECK(window.request[i] == MPI_REQUEST_NULL);
    enq_sync(window.lane);
    for (int i = 0; i < window.count; i++)
        expect(i);
}

static void windows_of_any_number(void)
{
    static const int numbers[] = {2, 3, 12, 13, 64, 100, 101, 205};
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int k = 0; k < 8; k++) {
        window_open(&lane);
        for (int i = 0; i < numbers[k]; i++)
            add(DEVICE, (size_t)(i * 7 + k) % 70, (size_t)i % 3);
        run(k % 2, 1);
        run(!(k % 2), 1);
        window_close();
    }
    enq_lane_close(&lane);
}

/* From nothing to more than rings take, at random. */
static void windows_of_any_sizes(void)
{
    struct enq_lane lane;
    unsigned state = 4711;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 1; lap++) {
        window_open(&lane);
        for (int i = 0; i < 30; i++)
            add(DEVICE, random_next(&state) % (1u << random_next(&state) % 17),
                random_next(&state) % 20);
        run(lap % 2, 2);
        window_close();
    }
    enq_lane_close(&lane);
}

static void all_kinds_in_one_call(void)
{
    struct enq_lane lane;
    unsigned state = 42;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 1; lap++) {
        window_open(&lane);
        for (int i = 0; i < 24; i++)
            add((enum kind)(random_next(&state) % KINDS),
                16 + random_next(&state) % (i % 8 ? 3000 : 90000),
                random_next(&state) % 20);
        run(lap % 2, lap % 3 ? 2 : 8);
        window_close();
    }
    enq_lane_close(&lane);
}

/* The next window is enqueued while the last one runs: places in the ring come
 * back late. */
static void window_upon_window(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    window_open(&lane);
    for (int i = 0; i < 40; i++)
        add(DEVICE, 1000 + (size_t)i, 0);
    fill();
    for (int lap = 0; lap < enq.laps; lap++) {
        start_all(lap % 2);
        enq_waitall(2 * window.count, window.request);
    }
    enq_sync(&lane);
    for (int i = 0; i < window.count; i++)
        expect(i);
    window_close();
    enq_lane_close(&lane);
}

/* Statuses are those of the requests in their places. */
static void statuses(void)
{
    enum { STEP = 7 };
    struct enq_lane lane;
    int total;

    enq_lane_open(&lane);
    window_open(&lane);
    for (int i = 0; i < 40; i++)
        add(DEVICE, 10 * (size_t)i, 5);
    total = 2 * window.count;
    fill();
    start_all(true);
    shuffle(total, STEP);
    ENQ_OK(MPIX_Waitall_enqueue(total, window.request, window.status));
    enq_sync(&lane);
    for (int i = 0; i < total; i++) {
        int from = i * STEP % total;

        if (from % 2 == 0)
            enq_status_is(&window.status[i], window.left, from / 2,
                          window.slot[from / 2].bytes);
    }
    for (int i = 0; i < window.count; i++)
        expect(i);
    window_close();
    enq_lane_close(&lane);
}

/* One that is too long fails by itself. */
static void one_is_truncated(void)
{
    struct enq_lane lane;
    MPI_Request request[20];
    struct enq_buffer all[20];
    MPI_Status status[20];

    enq_lane_open(&lane);
    enq_errors_count(lane.comm);
    for (int i = 0; i < 20; i++)
        enq_buffer_open(&all[i], enq.rank == 1 && i == 7 ? 60 : 100);
    for (int i = 0; i < 20 && enq.rank == 0; i++) {
        enq_fill(&all[i], (unsigned)i + 1);
        enq_isend(&lane, &all[i], 1, i, &request[i]);
    }
    for (int i = 0; i < 20 && enq.rank == 1; i++)
        enq_irecv(&lane, &all[i], 0, i, &request[i]);
    if (enq.rank < 2)
        ENQ_OK(MPIX_Waitall_enqueue(20, request, status));
    enq_sync(&lane);
    for (int i = 0; i < 20 && enq.rank == 1; i++) {
        CHECK(status[i].MPI_ERROR == (i == 7 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        enq_expect(&all[i], all[i].bytes, (unsigned)i + 1);
    }
    enq_lane_close(&lane);
    for (int i = 0; i < 20; i++)
        enq_buffer_close(&all[i]);
}

/* Those that were cancelled leave their memory as it was. */
static void some_are_cancelled(void)
{
    struct enq_lane lane;
    MPI_Request request[30];
    MPI_Status status[30];
    struct enq_buffer all[30];
    int flag;

    enq_lane_open(&lane);
    for (int i = 0; i < 30; i++)
        enq_buffer_open(&all[i], 200);
    for (int i = 0; i < 30 && enq.rank == 1; i++)
        enq_irecv(&lane, &all[i], 0, i, &request[i]);
    for (int i = 0; i < 30 && enq.rank == 1; i += 4)
        ENQ_OK(MPI_Cancel(&request[i]));
    if (enq.rank == 1)
        ENQ_OK(MPIX_Waitall_enqueue(30, request, status));
    for (int i = 0; i < 30 && enq.rank == 0; i++) {
        enq_fill(&all[i], (unsigned)i + 1);
        if (i % 4 != 0)
            enq_send(&lane, &all[i], 1, i);
    }
    enq_sync(&lane);
    for (int i = 0; i < 30 && enq.rank == 1; i++) {
        ENQ_OK(MPI_Test_cancelled(&status[i], &flag));
        CHECK(flag == (i % 4 == 0));
        enq_expect(&all[i], flag ? 0 : 200, (unsigned)i + 1);
    }
    enq_lane_close(&lane);
    for (int i = 0; i < 30; i++)
        enq_buffer_close(&all[i]);
}

/* A rank to itself, on one stream. */
static void to_oneself(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    window_open(&lane);
    window.left = window.right = enq.rank;
    for (int i = 0; i < 50; i++)
        add(DEVICE, (size_t)i * 13, 1);
    run(true, 1);
    run(false, 2);
    window_close();
    enq_lane_close(&lane);
}

enum { CROWD = 64 };

static void crowd_send(const struct enq_lane *lane, struct enq_buffer *all)
{
    MPI_Request request[CROWD];

    for (int i = 0; i < CROWD; i++)
        enq_isend(lane, &all[i], 1 - enq.rank, i, &request[i]);
    enq_waitall(CROWD, request);
}

static void crowd_receive(const struct enq_lane *lane, struct enq_buffer *all)
{
    MPI_Request request[CROWD];

    for (int i = 0; i < CROWD; i++)
        enq_irecv(lane, &all[i], 1 - enq.rank, i, &request[i]);
    enq_waitall(CROWD, request);
}

/* A stream of rank 0 stands for many messages that come only when another of
 * the same GPU has sent as many. */
static void crowd_cross(const struct enq_lane *one, const struct enq_lane *two,
                        struct enq_buffer *in, struct enq_buffer *out)
{
    CUevent event;

    if (enq.rank == 0) {
        crowd_receive(one, in);
        crowd_send(two, out);
        return;
    }
    MGDS_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    crowd_receive(two, in);
    MGDS_CU(cuEventRecord(event, two->cu));
    MGDS_CU(cuStreamWaitEvent(one->cu, event, 0));
    crowd_send(one, out);
    MGDS_CU(cuEventDestroy(event));
}

static void a_stream_that_stands_leaves_room(void)
{
    struct enq_buffer in[CROWD], out[CROWD];
    struct enq_lane one, two;

    enq_lane_open(&one);
    enq_lane_open(&two);
    for (int i = 0; i < CROWD; i++) {
        enq_buffer_open(&in[i], 64 * (size_t)i);
        enq_buffer_open(&out[i], 64 * (size_t)i);
        enq_fill(&out[i], 1 + (unsigned)(CROWD * enq.rank + i));
    }
    if (enq.rank < 2)
        crowd_cross(&one, &two, in, out);
    enq_sync(&one);
    enq_sync(&two);
    for (int i = 0; i < CROWD && enq.rank < 2; i++)
        enq_expect(&in[i], 64 * (size_t)i,
                   1 + (unsigned)(CROWD * (1 - enq.rank) + i));
    enq_lane_close(&two);
    enq_lane_close(&one);
    for (int i = 0; i < CROWD; i++) {
        enq_buffer_close(&in[i]);
        enq_buffer_close(&out[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"windows_of_any_number", 2, windows_of_any_number},
        {"windows_of_any_sizes", 2, windows_of_any_sizes},
        {"all_kinds_in_one_call", 2, all_kinds_in_one_call},
        {"window_upon_window", 2, window_upon_window},
        {"statuses", 2, statuses},
        {"one_is_truncated", 2, one_is_truncated},
        {"some_are_cancelled", 2, some_are_cancelled},
        {"to_oneself", 1, to_oneself},
        {"a_stream_that_stands_leaves_room", 2,
         a_stream_that_stands_leaves_room},
        {0},
    };

    return enq_main(argc, argv, "enq waitall", cases);
}
