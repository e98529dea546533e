/*
 * A program of the CUDA runtime, linked to it statically as nvcc does: memory
 * of cudaMalloc, cudaMallocAsync and cudaMallocManaged, filled and checked by
 * kernels on the default stream, which the program waits for before it calls
 * MPI and nowhere else. Two ranks or more, around a ring.
 *
 * Exit status: 0 all well, 1 a wrong byte or a failed call, 77 no GPU that the
 * runtime can use.
 */
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define SKIPPED 77
#define SIZES 5

static const size_t sizes[SIZES] = {1, 1000, 65536, 1 << 20, 16 << 20};

static int rank, ranks, failures;

static void need(cudaError_t rc, const char *call)
{
    if (rc == cudaSuccess)
        return;
    fprintf(stderr, "runtime: rank %d: %s: %s\n", rank, call,
            cudaGetErrorString(rc));
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define NEED(call) need(call, #call)

/* Byte i of what rank `from` sends. */
static __device__ unsigned char byte_of(size_t i, int from)
{
    return (unsigned char)((i * 131 + (i >> 8) * 7 + from * 29 + 1) & 0xff);
}

static __global__ void fill(unsigned char *at, size_t bytes, int from)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < bytes)
        at[i] = byte_of(i, from);
}

static __global__ void check(const unsigned char *at, size_t bytes, int from,
                             unsigned *wrong)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < bytes && at[i] != byte_of(i, from))
        atomicAdd(wrong, 1u);
}

static unsigned blocks_of(size_t bytes)
{
    return (unsigned)((bytes + 255) / 256);
}

/* The kernel is behind the receive without a word from the host. */
static void expect(const unsigned char *at, size_t bytes, int from,
                   unsigned *wrong, const char *what)
{
    unsigned found;

    NEED(cudaMemset(wrong, 0, sizeof(*wrong)));
    check<<<blocks_of(bytes), 256>>>(at, bytes, from, wrong);
    NEED(cudaMemcpy(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost));
    if (found == 0)
        return;
    fprintf(stderr, "runtime: rank %d: %s, %zu bytes: %u wrong\n", rank, what,
            bytes, found);
    failures++;
}

struct buffers {
    unsigned char *send;
    unsigned char *recv;
    unsigned *wrong;
};

static void ready(const struct buffers *b, size_t bytes)
{
    fill<<<blocks_of(bytes), 256>>>(b->send, bytes, rank);
    NEED(cudaMemset(b->recv, 0xee, bytes));
    NEED(cudaStreamSynchronize(0));
}

static void ring(const struct buffers *b, size_t bytes)
{
    int from = (rank + ranks - 1) % ranks;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int n = (int)bytes;

    ready(b, bytes);
    MPI_Irecv(b->recv, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(b->send, n, MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Waitall(2, requests, statuses);
    expect(b->recv, bytes, from, b->wrong, "Isend and Irecv");
    ready(b, bytes);
    MPI_Sendrecv(b->send, n, MPI_BYTE, (rank + 1) % ranks, 1, b->recv, n,
                 MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(b->recv, bytes, from, b->wrong, "Sendrecv");
    ready(b, bytes);
    MPI_Bcast(rank == 0 ? b->send : b->recv, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    expect(rank == 0 ? b->send : b->recv, bytes, 0, b->wrong, "Bcast");
}

enum kind { PLAIN, ASYNC, MANAGED, KINDS };

static void *alloc(enum kind kind, size_t bytes)
{
    void *at = NULL;

    if (kind == PLAIN)
        NEED(cudaMalloc(&at, bytes));
    else if (kind == ASYNC)
        NEED(cudaMallocAsync(&at, bytes, 0));
    else
        NEED(cudaMallocManaged(&at, bytes, cudaMemAttachGlobal));
    return at;
}

static void release(enum kind kind, void *at)
{
    if (kind == ASYNC)
        NEED(cudaFreeAsync(at, 0));
    else
        NEED(cudaFree(at));
}

static void kinds_run(unsigned *wrong)
{
    for (int k = 0; k < KINDS; k++) {
        for (int s = 0; s < SIZES; s++) {
            struct buffers b = {(unsigned char *)alloc((enum kind)k, sizes[s]),
                                (unsigned char *)alloc((enum kind)k, sizes[s]),
                                wrong};

            ring(&b, sizes[s]);
            release((enum kind)k, b.send);
            release((enum kind)k, b.recv);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    unsigned *wrong;
    int count = 0, local, all;
    cudaError_t rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_free(&node);
    rc = cudaGetDeviceCount(&count);
    if (rc != cudaSuccess || count == 0) {
        if (rank == 0)
            printf("runtime: no GPU that the CUDA runtime can use: %s\n",
                   cudaGetErrorString(rc));
        MPI_Finalize();
        return SKIPPED;
    }
    NEED(cudaSetDevice(local % count));
    NEED(cudaMalloc((void **)&wrong, sizeof(*wrong)));
    kinds_run(wrong);
    NEED(cudaFree(wrong));
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0)
        printf("runtime: all well\n");
    MPI_Finalize();
    return all != 0;
}
