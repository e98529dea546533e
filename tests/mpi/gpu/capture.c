/*
 * MPI calls with GPU memory while the program captures a stream in global mode,
 * which forbids every thread what may wait for the device: the calls work, and
 * the capture is whole. The first of them meets cold pools.
 */
#include <dlfcn.h>
#include <string.h>

#include "shim/gds/cuda/driver_abi.h"
#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 300000, TAG = 9, MANY = 6 };

static CUresult (*create)(CUstream *, unsigned);
static CUresult (*destroy)(CUstream);
static CUresult (*begin)(CUstream, CUstreamCaptureMode);
static CUresult (*end)(CUstream, CUgraph *);
static CUresult (*forget)(CUgraph);

static void find(const char *name, void *function)
{
    void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name);

    CHECK(found);
    memcpy(function, &found, sizeof(found));
}

static void find_all(void)
{
    find("cuStreamCreate", &create);
    find("cuStreamDestroy_v2", &destroy);
    find("cuStreamBeginCapture_v2", &begin);
    find("cuStreamEndCapture", &end);
    find("cuGraphDestroy", &forget);
}

static void one_message(char *out, char *in)
{
    MPI_Status status;

    MPI_Sendrecv(out, BYTES, MPI_BYTE, gpu_rank, TAG, in, BYTES, MPI_BYTE,
                 gpu_rank, TAG, MPI_COMM_WORLD, &status);
    CHECK(gpu_bytes(&status) == BYTES);
}

static void many_messages(char *out, char *in)
{
    MPI_Request requests[2 * MANY];
    const int part = BYTES / MANY;

    for (int i = 0; i < MANY; i++, in += part, out += part) {
        MPI_Irecv(in, part, MPI_BYTE, gpu_rank, TAG, MPI_COMM_WORLD,
                  &requests[i]);
        MPI_Isend(out, part, MPI_BYTE, gpu_rank, TAG, MPI_COMM_WORLD,
                  &requests[MANY + i]);
    }
    MPI_Waitall(2 * MANY, requests, gpu_ignored());
}

static void one_collective(char *out, char *in)
{
    MPI_Allreduce(out, in, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_SELF);
}

/* The call between the begin and the end of a capture. */
static void during_capture(void (*call)(char *out, char *in))
{
    char *out = gpu_new(BYTES, 11), *in = gpu_new(BYTES, -1);
    CUstream stream;
    CUgraph graph = NULL;

    CHECK(create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    call(out, in);
    CHECK(end(stream, &graph) == CUDA_SUCCESS);
    CHECK(forget(graph) == CUDA_SUCCESS);
    CHECK(destroy(stream) == CUDA_SUCCESS);
    CHECK(gpu_holds(in, 0, BYTES, 11));
    gpu_delete(in);
    gpu_delete(out);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    find_all();
    during_capture(one_message);
    during_capture(many_messages);
    during_capture(one_collective);
    gpu_end("capture");
    return 0;
}
