/*
 * GPU memory that messages between GPUs of a host take in their receivers
 * (docs/rings.md): what is used and no more, none where the program has taken
 * it all, and back to the driver when communicators are gone.
 */
#include <sched.h>
#include <time.h>

#include "tests/enq/enq.h"

enum { COMMS = 100, STREAMS = 4, TAG = 1, WINDOW = 128, BLOCK_TRIES = 64 };

/* Of a program that was not told otherwise; and what the first ring has, and
 * done words. */
#define TOTAL ((size_t)256 << 20)
#define FIRST ((size_t)64 << 10)
#define DONES ((size_t)4 << 10)

/* The driver's blocks that each process on the GPU may have begun. */
enum { GRAINS = 8 };

/* What the messages take of the memory that the program has. */
#define NEEDED ((size_t)8 << 20)

enum { PATIENCE_S = 60, UNUSED_NS = 1100000000 };

static size_t used(void)
{
    size_t left, all;

    MGDS_CU(cuMemGetInfo(&left, &all));
    return all - left;
}

/* A stream that goes behind a communicator is a safe point, where memory goes
 * back. */
static void safe_point(void)
{
    CUstream cu;
    MPIX_Stream stream;
    MPI_Comm comm;

    MGDS_CU(cuStreamCreate(&cu, CU_STREAM_NON_BLOCKING));
    stream = enq_stream_of(cu);
    ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_SELF, stream, &comm));
    ENQ_OK(MPI_Comm_free(&comm));
    ENQ_OK(MPIX_Stream_free(&stream));
    MGDS_CU(cuStreamDestroy(cu));
}

/* Each rank gives back what it has of others, and frees what others gave back:
 * those say so by messages. */
static void await_used(size_t most)
{
    time_t end = time(NULL) + PATIENCE_S;

    safe_point();
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    do {
        safe_point();
        CHECK(time(NULL) < end);
        sched_yield();
    } while (used() > most);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void open_comm(struct enq_lane *lane, const struct enq_lane *of)
{
    *lane = *of;
    ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, of->stream, &lane->comm));
}

/* To the rank so far behind this one, from the one so far ahead. */
static void shift(const struct enq_lane *lane, int by, struct enq_buffer *out,
                  struct enq_buffer *in, unsigned message)
{
    int to = (enq.rank + by) % enq.size;
    int from = (enq.rank + enq.size - by) % enq.size;
    MPI_Request request[2];

    enq_fill(out, message);
    enq_wipe(in);
    enq_irecv(lane, in, from, TAG, &request[0]);
    enq_isend(lane, out, to, TAG, &request[1]);
    enq_waitall(2, request);
    enq_sync(lane);
    enq_expect(in, in->bytes, message);
}

/* What the driver takes at once for allocations of the first ring's size, so
 * that no figure of used() is finer. */
static size_t block(void)
{
    CUdeviceptr each[BLOCK_TRIES];
    size_t before = used(), grown;
    int count = 0;

    while (count < BLOCK_TRIES && used() <= before)
        MGDS_CU(cuMemAlloc(&each[count++], FIRST));
    grown = used();
    while (count > 0)
        MGDS_CU(cuMemFree(each[--count]));
    return grown > before ? grown - before : 0;
}

/* D5: 64 MiB and more of each communicator were never given back. */
static void comms_take_what_they_use(void)
{
    static struct enq_lane lane[COMMS];
    struct enq_lane first;
    struct enq_buffer out, in;
    size_t before, peers = (size_t)enq.size - 1;
    size_t grains = (size_t)enq.size * GRAINS * block();
    int64_t sent = 0;
    CUdeviceptr program;

    enq_lane_open(&first);
    enq_buffer_open(&out, 1000);
    enq_buffer_open(&in, 1000);
    shift(&first, 1, &out, &in, 1); /* what streams need beside rings */
    safe_point();
    before = used();
    for (int i = 0; i < COMMS; i++)
        open_comm(&lane[i], &first);
    CHECK(used() <= before + FIRST); /* nothing was sent; a ring may be late */
    sent = enq_counter("ring_sends");
    for (int i = 0; i < COMMS; i++)
        shift(&lane[i], 1 + i % (enq.size - 1), &out, &in, 1 + (unsigned)i);
    CHECK(enq_counter("ring_sends") - sent >=
          COMMS / 4); /* of a slow machine */
    CHECK(used() - before <= COMMS * FIRST + grains);
    CHECK(used() - before <= TOTAL);
    MGDS_CU(cuMemAlloc(&program, (size_t)64 << 20));
    MGDS_CU(cuMemFree(program));
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < COMMS; i++)
        ENQ_OK(MPI_Comm_free(&lane[i].comm));
    await_used(before + peers * (FIRST + DONES));
    open_comm(&lane[0], &first); /* has the ring of one that is gone */
    before = used();
    for (int i = 1; i < enq.size; i++)
        shift(&lane[0], i, &out, &in, 1);
    CHECK(used() <= before + FIRST);
    ENQ_OK(MPI_Comm_free(&lane[0].comm));
    enq_buffer_close(&out);
    enq_buffer_close(&in);
    enq_lane_close(&first);
}

/* What a communicator with so many streams takes, until it is used: beside the
 * program's streams. */
static size_t take_by_streams(int count)
{
    MPIX_Stream stream[STREAMS];
    CUstream cu[STREAMS];
    size_t before, during;
    MPI_Comm comm;

    for (int i = 0; i < count; i++)
        MGDS_CU(cuStreamCreate(&cu[i], CU_STREAM_NON_BLOCKING));
    before = used();
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < count; i++)
        stream[i] = enq_stream_of(cu[i]);
    ENQ_OK(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, count, stream,
                                             &comm));
    during = used();
    ENQ_OK(MPI_Comm_free(&comm));
    for (int i = 0; i < count; i++) {
        ENQ_OK(MPIX_Stream_free(&stream[i]));
        MGDS_CU(cuStreamDestroy(cu[i]));
    }
    return during > before ? during - before : 0;
}

/* D5 again: each stream of a communicator had rings, for all streams of all
 * members. A stream has a few KiB of its own (stream/own.h). */
static void streams_take_no_ring_each(void)
{
    size_t peers = (size_t)enq.size, grain = block();

    CHECK(take_by_streams(1) <= 2 * peers * (FIRST + DONES) + grain);
    CHECK(take_by_streams(STREAMS) <= grain);
}

/* Messages that nobody has received yet, in the order in which they were sent:
 * the ring grows under them. */
static void window(const struct enq_lane *lane, struct enq_buffer *b)
{
    static MPI_Request request[WINDOW];

    if (enq.rank == 0) {
        for (int i = 0; i < WINDOW; i++) {
            enq_fill(b, 1 + (unsigned)i);
            enq_isend(lane, b, 1, TAG, &request[i]);
            enq_sync(lane); /* all of it lies there, or in pinned memory */
        }
        enq_tell(1);
        enq_waitall(WINDOW, request);
    } else if (enq.rank == 1) {
        enq_hear(0);
        for (int i = 0; i < WINDOW; i++) {
            enq_wipe(b);
            enq_recv(lane, b, 0, TAG, MPI_STATUS_IGNORE);
            enq_sync(lane);
            enq_expect(b, b->bytes, 1 + (unsigned)i);
        }
    }
    enq_sync(lane);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void idle(void)
{
    const struct timespec unused = {UNUSED_NS / 1000000000,
                                    UNUSED_NS % 1000000000};

    nanosleep(&unused, NULL); /* that time passes is what is meant */
}

/* By messages, and back when none has come for a second. */
static void ring_grows_and_shrinks(void)
{
    struct enq_lane lane;
    enum { TRIES = 20 };
    struct enq_buffer b, in;
    size_t before;
    int grown = 0;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 8192);
    enq_buffer_open(&in, 8192);
    shift(&lane, 1, &b, &in, 1);
    safe_point();
    before = used();
    for (int i = 0; i < TRIES && !grown; i++) {
        window(&lane, &b);
        grown = used() > before + 2 * FIRST;
        ENQ_OK(MPI_Bcast(&grown, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    CHECK(grown);                 /* the first time, but on a slow machine */
    for (int i = 0; i < 2; i++) { /* the first look notes what is used */
        safe_point();
        idle();
    }
    await_used(before);
    window(&lane, &b);
    enq_buffer_close(&b);
    enq_buffer_close(&in);
    enq_lane_close(&lane);
}

/* However long the message, up to where it goes without one: no ring was as
 * large yet. On a slow machine the ring comes later than the first message. */
static void ring_fits_the_message(void)
{
    enum { TIMES = 50 };
    static const size_t sizes[] = {1, 40000, 200000, 262143};
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int64_t sent = enq_counter("ring_sends");
        struct enq_buffer out, in;

        enq_buffer_open(&out, sizes[i]);
        enq_buffer_open(&in, sizes[i]);
        for (unsigned k = 0; k < TIMES; k++)
            shift(&lane, 1, &out, &in, 1 + i + k);
        CHECK(enq_counter("ring_sends") - sent > TIMES / 2);
        enq_buffer_close(&out);
        enq_buffer_close(&in);
    }
    enq_lane_close(&lane);
}

/* All but a hundredth of a GPU, with other ranks that may have the same one. */
static CUdeviceptr take_most(void)
{
    time_t end = time(NULL) + PATIENCE_S;
    size_t left, all, most;
    CUdeviceptr taken;
    CUresult rc;

    do {
        CHECK(time(NULL) < end);
        MGDS_CU(cuMemGetInfo(&left, &all));
        most = left > all / 100 + NEEDED ? left - all / 100 : NEEDED;
        rc = mgds_cu.cuMemAlloc(&taken, most);
    } while (rc == CUDA_ERROR_OUT_OF_MEMORY);
    mgds_test_cu_check(rc, "cuMemAlloc");
    return taken;
}

/* Before the program has anything of ours. */
static void all_memory_is_taken(void)
{
    static const size_t sizes[] = {8, 70001, 500000, 4000000};
    enum { LANES = 10 };
    struct enq_lane first, lane[LANES];
    CUdeviceptr taken = take_most();
    char *at = (char *)(uintptr_t)taken;

    enq_lane_open(&first);
    for (int i = 0; i < LANES; i++)
        open_comm(&lane[i], &first);
    for (int i = 0; i < LANES; i++)
        for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            struct enq_buffer out = {.at = at, .bytes = sizes[k]};
            struct enq_buffer in = {.at = at + sizes[k], .bytes = sizes[k]};
            const struct enq_buffer last = {
                .memory = {.kind = MGDS_TEST_DEVICE},
                .at = in.at + sizes[k] - 1,
                .bytes = 1};
            MPI_Request request[2];
            unsigned char byte = 0;

            MGDS_CU(cuMemsetD8Async((CUdeviceptr)(uintptr_t)out.at,
                                    (unsigned char)(i + 1), sizes[k],
                                    first.cu));
            enq_irecv(&lane[i], &in, MPI_ANY_SOURCE, TAG, &request[0]);
            enq_isend(&lane[i], &out, (enq.rank + 1) % enq.size, TAG,
                      &request[1]);
            enq_waitall(2, request);
            enq_sync(&first);
            enq_read(&last, &byte, 1);
            CHECK(byte == i + 1);
            ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
        }
    for (int i = 0; i < LANES; i++)
        ENQ_OK(MPI_Comm_free(&lane[i].comm));
    enq_lane_close(&first);
    MGDS_CU(cuMemFree(taken));
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"comms_take_what_they_use", 2, comms_take_what_they_use},
        {"streams_take_no_ring_each", 2, streams_take_no_ring_each},
        {"ring_grows_and_shrinks", 2, ring_grows_and_shrinks},
        {"ring_fits_the_message", 2, ring_fits_the_message},
        {"all_memory_is_taken", 2, all_memory_is_taken},
        {0},
    };

    return enq_main(argc, argv, "enq rings", cases);
}
