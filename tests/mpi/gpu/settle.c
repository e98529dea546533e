/* Buffers that the program has written by calls that are synchronous by name,
 * and return before the memory is written: cudaMemcpy, then MPI_Send;
 * cudaMemset, then MPI_Recv. Of every allocation once as its first message,
 * then again. */
#include "tests/mpi/gpu/gpu_case.h"

enum { LAPS = 20, AGAIN = 3, BYTES = 40000 };

static CUdeviceptr device_of(char *at)
{
    return (CUdeviceptr)(uintptr_t)at;
}

static void send_copied(char *out, char *source, int seed)
{
    gpu_fill(source, BYTES, seed);
    MGDS_CU(cuMemcpyDtoD(device_of(out), device_of(source), BYTES));
    MPI_Send(out, BYTES, MPI_BYTE, (gpu_rank + 1) % gpu_size, 0,
             MPI_COMM_WORLD);
}

static void receive_cleared(char *in, int seed)
{
    MGDS_CU(cuMemsetD8(device_of(in), 0, BYTES));
    MPI_Recv(in, BYTES, MPI_BYTE, (gpu_rank + gpu_size - 1) % gpu_size, 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(gpu_holds(in, 0, BYTES, seed));
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    for (int lap = 0; lap < LAPS; lap++) {
        char *source = gpu_new(BYTES, -1), *buffer = gpu_new(BYTES, -1);

        for (int i = 0; i < AGAIN; i++) {
            if (gpu_rank == 0)
                send_copied(buffer, source, lap + i);
            receive_cleared(buffer, lap + i);
            if (gpu_rank > 0)
                send_copied(buffer, source, lap + i);
        }
        gpu_delete(source);
        gpu_delete(buffer);
    }
    gpu_end("settle");
    return 0;
}
