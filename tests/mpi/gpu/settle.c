/* Buffers that the program has written by calls that are synchronous by name,
 * and return before the memory is written: cudaMemcpy, then MPI_Send;
 * cudaMemset, then MPI_Recv. Of every allocation once as its first message,
 * then again. */
#include "tests/mpi/gpu/gpu_case.h"

enum { LAPS = 20, AGAIN = 3, PARTS = 3, BYTES = 40000 };

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

static void one_allocation(int lap)
{
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

static MPI_Datatype type_of(char *const part[PARTS])
{
    MPI_Aint at[PARTS];
    int bytes[PARTS];
    MPI_Datatype type;

    for (int i = 0; i < PARTS; i++) {
        bytes[i] = BYTES;
        MPI_Get_address(part[i], &at[i]);
    }
    MPI_Type_create_hindexed(PARTS, bytes, at, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void send_parts(char *const part[PARTS], char *source, MPI_Datatype type,
                       int seed)
{
    gpu_fill(source, BYTES, seed);
    for (int i = 0; i < PARTS; i++)
        MGDS_CU(cuMemcpyDtoD(device_of(part[i]), device_of(source), BYTES));
    MPI_Send(MPI_BOTTOM, 1, type, (gpu_rank + 1) % gpu_size, 0, MPI_COMM_WORLD);
}

static void receive_parts(char *const part[PARTS], MPI_Datatype type, int seed)
{
    for (int i = 0; i < PARTS; i++)
        MGDS_CU(cuMemsetD8(device_of(part[i]), 0, BYTES));
    MPI_Recv(MPI_BOTTOM, 1, type, (gpu_rank + gpu_size - 1) % gpu_size, 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < PARTS; i++)
        CHECK(gpu_holds(part[i], 0, BYTES, seed));
}

/* One message out of all of them, by their addresses. */
static void several_allocations(int lap)
{
    char *source = gpu_new(BYTES, -1), *part[PARTS];
    MPI_Datatype type;

    for (int i = 0; i < PARTS; i++)
        part[i] = gpu_new(BYTES, -1);
    type = type_of(part);
    if (gpu_rank == 0)
        send_parts(part, source, type, lap);
    receive_parts(part, type, lap);
    if (gpu_rank > 0)
        send_parts(part, source, type, lap);
    MPI_Type_free(&type);
    for (int i = 0; i < PARTS; i++)
        gpu_delete(part[i]);
    gpu_delete(source);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    for (int lap = 0; lap < LAPS; lap++) {
        one_allocation(lap);
        several_allocations(lap);
    }
    gpu_end("settle");
    return 0;
}
