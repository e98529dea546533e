/* The arena of --warm: one allocation that buffers are parts of, and the
 * messages by which the library comes to know it. */
#include "tests/enq/enq.h"

#include <pthread.h>
#include <stdlib.h>

enum { PARTS = 8192, ALIGN = 512, WARM_BYTES = 8192, WARM_ROUNDS = 4 };
#define ARENA ((size_t)256 << 20)

/* Parts in the order of their places; the last ones go when they are free. */
static struct {
    pthread_mutex_t lock;
    struct mgds_test_memory memory;
    size_t used;
    int count;
    struct {
        char *at;
        bool given;
    } part[PARTS];
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void arena_need(void)
{
    if (!arena.memory.at)
        CHECK(mgds_test_memory_alloc(&arena.memory, MGDS_TEST_DEVICE, ARENA) ==
              0);
}

static char *part_add(size_t bytes)
{
    char *at = arena.memory.at + arena.used;

    if (arena.count == PARTS || bytes > ARENA - arena.used)
        return NULL;
    arena.used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    arena.part[arena.count].at = at;
    arena.part[arena.count++].given = true;
    return at;
}

char *enq_arena_give(size_t bytes)
{
    char *at;

    if (!enq.warm)
        return NULL;
    pthread_mutex_lock(&arena.lock);
    arena_need();
    at = part_add(bytes);
    pthread_mutex_unlock(&arena.lock);
    return at;
}

/* The place of a part, or -1. */
static int part_find(const char *at)
{
    int i = arena.count - 1;

    while (i >= 0 && arena.part[i].at != at)
        i--;
    return i;
}

static void last_parts_go(void)
{
    while (arena.count > 0 && !arena.part[arena.count - 1].given)
        arena.used = (size_t)(arena.part[--arena.count].at - arena.memory.at);
}

bool enq_arena_take(const char *at)
{
    int i;

    pthread_mutex_lock(&arena.lock);
    i = part_find(at);
    if (i >= 0)
        arena.part[i].given = false;
    last_parts_go();
    pthread_mutex_unlock(&arena.lock);
    return i >= 0;
}

/* One message to, and one from, each rank that has a stream. */
static void warm_round(const struct enq_lane *lane, const int *streams,
                       char *out, char *in)
{
    MPI_Request *requests = malloc(2 * (size_t)enq.size * sizeof(MPI_Request));
    int count = 0;

    CHECK(requests);
    for (int rank = 0; rank < enq.size; rank++) {
        char *at = in + (size_t)rank * WARM_BYTES;

        if (!streams[rank])
            continue;
        ENQ_OK(MPIX_Irecv_enqueue(at, WARM_BYTES, MPI_BYTE, rank, 0, lane->comm,
                                  &requests[count++]));
        ENQ_OK(MPIX_Isend_enqueue(out, WARM_BYTES, MPI_BYTE, rank, 0,
                                  lane->comm, &requests[count++]));
    }
    enq_waitall(count, requests);
    /* And the library knows that nothing stands. */
    ENQ_OK(MPIX_Stream_synchronize(lane->stream, 60));
    free(requests);
}

void enq_lane_warm(const struct enq_lane *lane)
{
    int streams[64], mine = lane->stream != MPIX_STREAM_NULL;
    char *out, *in;

    if (!enq.warm)
        return;
    CHECK(enq.size <= 64);
    ENQ_OK(
        MPI_Allgather(&mine, 1, MPI_INT, streams, 1, MPI_INT, MPI_COMM_WORLD));
    out = enq_arena_give(WARM_BYTES);
    in = enq_arena_give((size_t)enq.size * WARM_BYTES);
    CHECK(out && in);
    for (int i = 0; i < WARM_ROUNDS; i++) {
        if (mine)
            warm_round(lane, streams, out, in);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    enq_arena_take(in);
    enq_arena_take(out);
}
