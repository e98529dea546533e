/*
 * Requests with GPU memory that the program frees before they are done, again
 * and again: the data arrives, and neither the MPI below nor the library keeps
 * what was freed. Both show: the MPI below gives a request it still keeps no
 * second time, so its handles must come back, and the heap stops to grow.
 */
#include <malloc.h>
#include <stdlib.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { LAPS = 4000, BYTES = 64, TAG = 6, TOGETHER = 16 };

/* Handles, and bytes, that so many requests under way at once may need. What
 * is kept is a handle and more than 200 bytes a lap. */
enum { MOST_HANDLES = LAPS / 4, MOST_BYTES = 100 * LAPS };

static int partner;
static char *all_out, *all_in;
static MPI_Request seen[LAPS];

typedef MPI_Request freed_call(char *out, char *in);

/* Sends by host requests of its own, so that only receives are freed. */
static void send_to_partner(char *out)
{
    CHECK(!MPI_Send(out, BYTES, MPI_BYTE, partner, TAG, MPI_COMM_WORLD));
}

static MPI_Request by_irecv(char *out, char *in)
{
    MPI_Request request, freed;

    CHECK(!MPI_Irecv(in, BYTES, MPI_BYTE, partner, TAG, MPI_COMM_WORLD,
                     &request));
    freed = request;
    CHECK(!MPI_Request_free(&request) && request == MPI_REQUEST_NULL);
    send_to_partner(out);
    return freed;
}

static MPI_Request by_imrecv(char *out, char *in)
{
    MPI_Request sent, request, freed;
    MPI_Message message;

    MPI_Isend(out, BYTES, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &sent);
    MPI_Mprobe(partner, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    CHECK(!MPI_Imrecv(in, BYTES, MPI_BYTE, &message, &request));
    freed = request;
    CHECK(!MPI_Request_free(&request) && request == MPI_REQUEST_NULL);
    CHECK(!MPI_Wait(&sent, MPI_STATUS_IGNORE));
    return freed;
}

static MPI_Request by_isendrecv(char *out, char *in)
{
    MPI_Request request, freed;

    CHECK(!MPI_Isendrecv(out, BYTES, MPI_BYTE, partner, TAG, in, BYTES,
                         MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &request));
    freed = request;
    CHECK(!MPI_Request_free(&request) && request == MPI_REQUEST_NULL);
    return freed;
}

/* Complete, and seen to be so, but never waited for. */
static MPI_Request when_done(char *out, char *in)
{
    MPI_Request request, freed;
    int flag = 0;

    CHECK(!MPI_Irecv(in, BYTES, MPI_BYTE, partner, TAG, MPI_COMM_WORLD,
                     &request));
    freed = request;
    send_to_partner(out);
    while (!flag)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    CHECK(!MPI_Request_free(&request) && request == MPI_REQUEST_NULL);
    return freed;
}

/* MPI forbids this, MPICH lets it pass. */
static MPI_Request by_iallreduce(char *out, char *in)
{
    MPI_Request request, freed;

    CHECK(!MPI_Iallreduce(out, in, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD,
                          &request));
    freed = request;
    CHECK(!MPI_Request_free(&request) && request == MPI_REQUEST_NULL);
    return freed;
}

/* Ranks stay together, and what was freed gets its turn. */
static void settle(void)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TOGETHER; i++)
        MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
}

static size_t heap(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static int by_handle(const void *a, const void *b)
{
    MPI_Request left = *(const MPI_Request *)a;
    MPI_Request right = *(const MPI_Request *)b;

    return (left > right) - (left < right);
}

static int distinct(void)
{
    int count = 1;

    qsort(seen, LAPS, sizeof(seen[0]), by_handle);
    for (int i = 1; i < LAPS; i++)
        count += seen[i] != seen[i - 1];
    return count;
}

static void run(const char *name, freed_call *call)
{
    size_t before = 0;
    int handles;

    for (int lap = 0; lap < LAPS; lap++) {
        size_t at = (size_t)lap * BYTES;

        seen[lap] = call(all_out + at, all_in + at);
        if (lap % TOGETHER == 0)
            settle();
        if (lap == LAPS / 4)
            before = heap();
    }
    settle();
    handles = distinct();
    printf("%s: %d handles, %ld bytes more\n", name, handles,
           (long)(heap() - before));
    CHECK(handles <= MOST_HANDLES);
    CHECK(heap() <= before + MOST_BYTES);
}

/* MPI_Finalize alone says that a freed receive is done. */
static void call_after_call(void)
{
    static const struct {
        const char *name;
        freed_call *call;
    } calls[] = {
        {"Irecv", by_irecv},           {"Imrecv", by_imrecv},
        {"Isendrecv", by_isendrecv},   {"complete", when_done},
        {"Iallreduce", by_iallreduce},
    };
    enum { CALLS = sizeof(calls) / sizeof(calls[0]) };
    const size_t bytes = (size_t)LAPS * BYTES;
    char *in[CALLS];

    all_out = gpu_new(bytes, 5);
    for (int i = 0; i < CALLS; i++) {
        all_in = in[i] = gpu_new(bytes, -1);
        run(calls[i].name, calls[i].call);
    }
    CHECK(!MPI_Finalize());
    for (int i = 0; i < CALLS; i++) {
        CHECK(gpu_holds(in[i], 0, bytes, 5));
        gpu_delete(in[i]);
    }
    gpu_delete(all_out);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    partner = gpu_size % 2 ? gpu_rank : gpu_rank ^ 1;
    call_after_call();
    gpu_end("freed");
    return 0;
}
