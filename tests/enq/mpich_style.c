/*
 * A program as users of MPICH's stream API write it: <mpi.h> alone declares
 * everything. Rank 0 sends a vector from the device, rank 1 receives it there
 * and adds its own; then host memory that nobody has registered goes to the
 * device with requests; everything is freed while the stream is busy.
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 100000, BYTES = N * (int)sizeof(float) };

/* The driver, by hand: this source knows neither toolkit nor this project. */
static struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*enter)(void *);
    int (*alloc)(unsigned long long *, size_t);
    int (*stream)(void **, unsigned);
    int (*copy)(unsigned long long, unsigned long long, size_t, void *);
    int (*sync)(void *);
    int (*drop)(void *);
} gpu;

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "mpich style: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    must(found != NULL, name);
    return found;
}

static void driver_load(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    void *context;

    must(cuda != NULL, "no libcuda.so.1");
    *(void **)&gpu.init = symbol(cuda, "cuInit");
    *(void **)&gpu.retain = symbol(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&gpu.enter = symbol(cuda, "cuCtxSetCurrent");
    *(void **)&gpu.alloc = symbol(cuda, "cuMemAlloc_v2");
    *(void **)&gpu.stream = symbol(cuda, "cuStreamCreate");
    *(void **)&gpu.copy = symbol(cuda, "cuMemcpyAsync");
    *(void **)&gpu.sync = symbol(cuda, "cuStreamSynchronize");
    *(void **)&gpu.drop = symbol(cuda, "cuStreamDestroy_v2");
    must(gpu.init(0) == 0 && gpu.retain(&context, 0) == 0 &&
             gpu.enter(context) == 0,
         "no device");
}

static unsigned long long at(const void *host)
{
    return (unsigned long long)(uintptr_t)host;
}

static MPIX_Stream stream_of(void *native)
{
    MPIX_Stream stream;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &native, sizeof(native));
    MPIX_Stream_create(info, &stream);
    MPI_Info_free(&info);
    return stream;
}

/* Ordered by the stream alone: nothing is waited for in between. */
static void blocking(MPI_Comm comm, int rank, void *native, float *host)
{
    unsigned long long device;

    must(gpu.alloc(&device, BYTES) == 0, "no memory");
    if (rank == 0) {
        must(gpu.copy(device, at(host), BYTES, native) == 0, "copy");
        MPIX_Send_enqueue((void *)(uintptr_t)device, N, MPI_FLOAT, 1, 0, comm);
    } else {
        MPIX_Recv_enqueue((void *)(uintptr_t)device, N, MPI_FLOAT, 0, 0, comm,
                          MPI_STATUS_IGNORE);
        must(gpu.copy(at(host), device, BYTES, native) == 0, "copy");
    }
}

static void nonblocking(MPI_Comm comm, int rank, void *native, float *host)
{
    unsigned long long device;
    MPI_Request request;
    MPI_Status status;

    must(gpu.alloc(&device, BYTES) == 0, "no memory");
    if (rank == 0) {
        MPIX_Isend_enqueue(host, N, MPI_FLOAT, 1, 0, comm, &request);
        MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    } else {
        MPIX_Irecv_enqueue((void *)(uintptr_t)device, N, MPI_FLOAT, 0, 0, comm,
                           &request);
        MPIX_Waitall_enqueue(1, &request, &status);
        must(gpu.copy(at(host), device, BYTES, native) == 0, "copy");
        must(gpu.sync(native) == 0, "synchronize");
    }
}

int main(int argc, char **argv)
{
    float *first = malloc(BYTES);
    float *second = malloc(BYTES);
    MPIX_Stream stream;
    MPI_Comm comm;
    void *native;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    driver_load();
    must(first && second && gpu.stream(&native, 0) == 0, "no stream");
    for (int i = 0; i < N; i++) {
        first[i] = rank == 0 ? (float)i : -1;
        second[i] = rank == 0 ? (float)(2 * i) : -1;
    }
    stream = stream_of(native);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
    blocking(comm, rank, native, first);
    nonblocking(comm, rank, native, second);
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&stream);
    must(gpu.sync(native) == 0 && gpu.drop(native) == 0, "synchronize");
    for (int i = 0; i < N; i++)
        must(first[i] == (float)i && second[i] == (float)(2 * i), "wrong data");
    free(second);
    free(first);
    MPI_Finalize();
    if (rank == 1)
        printf("mpich style: all well\n");
    return 0;
}
