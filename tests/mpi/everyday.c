/*
 * What ordinary programs do, with every byte checked: the point-to-point
 * modes, persistent and partitioned requests, probes, collectives, windows,
 * communicator life-cycle and, with --io, a collective file write (ROMIO calls
 * MPI through the library's own symbols). Builds with any MPI. Any number of
 * ranks.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/mpi_check.h"

enum { COUNT = 1000, TAG = 7 };

static int rank, size;

static void fill(int *data, int seed)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = seed * 100003 + i;
}

static void check(const int *data, int seed)
{
    for (int i = 0; i < COUNT; i++)
        CHECK(data[i] == seed * 100003 + i);
}

static int right(void)
{
    return (rank + 1) % size;
}

static int left(void)
{
    return (rank + size - 1) % size;
}

typedef int isend_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                     MPI_Request *);

static void send_nonblocking(isend_fn *isend)
{
    static int out[COUNT], in[COUNT];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int count;

    fill(out, rank);
    MPI_Irecv(in, COUNT, MPI_INT, left(), TAG, MPI_COMM_WORLD, &requests[0]);
    isend(out, COUNT, MPI_INT, right(), TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    CHECK(count == COUNT && statuses[0].MPI_SOURCE == left());
    check(in, left());
}

static void send_blocking(void)
{
    static int data[COUNT];

    if (rank == 0) {
        fill(data, 1);
        MPI_Send(data, COUNT, MPI_INT, right(), TAG, MPI_COMM_WORLD);
        MPI_Recv(data, COUNT, MPI_INT, left(), TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, COUNT, MPI_INT, left(), TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Ssend(data, COUNT, MPI_INT, right(), TAG, MPI_COMM_WORLD);
    }
    check(data, 1);
}

static void send_persistent(void)
{
    static int out[COUNT], in[COUNT];
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Send_init(out, COUNT, MPI_INT, right(), TAG, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Recv_init(in, COUNT, MPI_INT, left(), TAG, MPI_COMM_WORLD,
                  &requests[1]);
    for (int lap = 0; lap < 3; lap++) {
        int flag = 0;

        fill(out, rank + lap);
        MPI_Startall(2, requests);
        while (!flag)
            MPI_Testall(2, requests, &flag, statuses);
        CHECK(statuses[1].MPI_SOURCE == left());
        check(in, left() + lap);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void probe(void)
{
    static int out[COUNT], in[COUNT];
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int count;

    fill(out, rank);
    MPI_Isend(out, COUNT, MPI_INT, right(), TAG, MPI_COMM_WORLD, &request);
    MPI_Mprobe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == COUNT && status.MPI_TAG == TAG);
    MPI_Mrecv(in, COUNT, MPI_INT, &message, &status);
    check(in, left());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void collect(void)
{
    MPI_Comm half, twin;
    int sum, all = 0, *ranks = calloc((size_t)size, sizeof(int));

    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(ranks[i] == i);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(half, &twin);
    MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_MIN, twin);
    CHECK(all == rank % 2);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&half);
    free(ranks);
}

static void one_sided(void)
{
    MPI_Win window;
    int *base, value = rank + 1, old = -1;

    /* A page: MPICH 4.0.2 mixes up smaller allocated windows on a node. */
    MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                     &window);
    base[0] = base[1] = 0;
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, right(), 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(base[0] == left() + 1);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Fetch_and_op(&value, &old, MPI_INT, 0, 1, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    CHECK(value == size * (size + 1) / 2 && old >= 0);
    MPI_Win_free(&window);
}

static void write_file(const char *path)
{
    static int out[COUNT], in[COUNT];
    MPI_File file;

    fill(out, rank);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(out), out,
                                COUNT, MPI_INT,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at_all(file, left() * (MPI_Offset)sizeof(in), in, COUNT,
                               MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check(in, left());
    MPI_File_close(&file);
    if (rank == 0)
        unlink(path);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    send_nonblocking(MPI_Isend);
    send_nonblocking(MPI_Issend);
    if (size > 1)
        send_blocking();
    send_persistent();
    probe();
    collect();
    one_sided();
    if (argc > 2 && !strcmp(argv[1], "--io"))
        write_file(argv[2]);
    MPI_Finalize();
    if (rank == 0)
        puts("everyday: all well");
    return 0;
}
