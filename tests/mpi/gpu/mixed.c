/*
 * Long messages of datatypes that mix sizes, between device and host memory, by
 * calls that keep a request and such that do not. Two ranks; what each sends to
 * the other must arrive, and nothing else be written.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { TAG = 4, TYPES = 3, CALLS = 4 };

static MPI_Datatype types[TYPES];

static void make_types(void)
{
    int lengths[2] = {1, 1};
    MPI_Aint at[2] = {0, 4};
    MPI_Datatype members[2] = {MPI_CHAR, MPI_DOUBLE}, pair;

    types[0] = MPI_SHORT_INT;
    MPI_Type_dup(MPI_DOUBLE_INT, &pair);
    MPI_Type_vector(3, 1, 2, pair, &types[1]);
    MPI_Type_create_struct(2, lengths, at, members, &types[2]);
    MPI_Type_commit(&types[1]);
    MPI_Type_commit(&types[2]);
    MPI_Type_free(&pair);
}

static void talk(int way, const char *out, char *in, int count,
                 MPI_Datatype type)
{
    int other = 1 - gpu_rank;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    if (way == 0) {
        CHECK(!MPI_Sendrecv(out, count, type, other, TAG, in, count, type,
                            other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
    }
    MPI_Irecv(in, count, type, other, TAG, MPI_COMM_WORLD, &requests[0]);
    if (way == 1)
        MPI_Isend(out, count, type, other, TAG, MPI_COMM_WORLD, &requests[1]);
    if (way == 2)
        CHECK(!MPI_Ssend(out, count, type, other, TAG, MPI_COMM_WORLD));
    if (way == 3) {
        MPI_Send_init(out, count, type, other, TAG, MPI_COMM_WORLD,
                      &requests[1]);
        MPI_Start(&requests[1]);
    }
    CHECK(!MPI_Waitall(2, requests, gpu_ignored()));
    if (way == 3)
        MPI_Request_free(&requests[1]);
}

/* Where the datatype has no bytes must be what was there. */
static void check(const char *in, size_t room, int count, MPI_Datatype type)
{
    char *want = malloc(room), *packed = malloc(room), *sent = malloc(room);
    int at = 0, size = 0;

    CHECK(want && packed && sent);
    for (size_t i = 0; i < room; i++)
        sent[i] = (char)((unsigned)(2 - gpu_rank) + i * 7);
    memset(want, 0xee, room);
    MPI_Pack(sent, count, type, packed, (int)room, &size, MPI_COMM_SELF);
    MPI_Unpack(packed, size, &at, want, count, type, MPI_COMM_SELF);
    CHECK(memcmp(in, want, room) == 0);
    free(want);
    free(packed);
    free(sent);
}

/* ends: bit 0: rank 0's buffers are the device's; bit 1: rank 1's. */
static void exchange(int ends, int way, int bytes, MPI_Datatype type)
{
    bool on_device = ends >> gpu_rank & 1;
    MPI_Aint lb, extent;
    char *out, *in, *host;
    int size, count;
    size_t room;

    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    count = bytes / size;
    room = (size_t)count * (size_t)extent + 64;
    out = gpu_new(room, gpu_rank + 1);
    in = gpu_new(room, -1);
    host = malloc(2 * room);
    CHECK(host);
    gpu_read(host, out, room);
    memset(host + room, 0xee, room);
    talk(way, on_device ? out : host, on_device ? in : host + room, count,
         type);
    if (on_device)
        gpu_read(host + room, in, room);
    check(host + room, room, count, type);
    free(host);
    gpu_delete(in);
    gpu_delete(out);
}

static void every_length(int ends, int way)
{
    for (int bytes = 1000; bytes <= 1000000; bytes *= 10)
        for (int type = 0; type < TYPES; type++)
            exchange(ends, way, bytes, types[type]);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    CHECK(gpu_size == 2);
    make_types();
    for (int ends = 0; ends < 4; ends++)
        for (int way = 0; way < CALLS; way++)
            every_length(ends, way);
    MPI_Type_free(&types[1]);
    MPI_Type_free(&types[2]);
    gpu_end("mixed");
    return 0;
}
