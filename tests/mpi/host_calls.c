/*
 * Calls on host memory only, one function after the other, in a process that
 * has CUDA: host_calls LAPS MEMORY STATE BYTES. The counting is done from
 * outside (host_instructions.py), between calls of the phase functions.
 *   MEMORY  stack | mapped (which only the driver can tell from its own)
 *   STATE   none | loaded | begun (cuInit) | context | gpu (some was sent)
 */
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>

#include "osu-extensions/libcuda.h"
#include "shim/gds/cuda/driver_abi.h"
#include "tests/lib/mpi_check.h"

enum { TAG = 1 };

static char *memory;
static int rank, laps, bytes;

/* Where a dump of the counters begins. */
#define PHASE(name)                                                            \
    __attribute__((noinline, visibility("default"))) void phase_##name(void);  \
    void phase_##name(void)                                                    \
    {                                                                          \
        __asm__ volatile("");                                                  \
    }

PHASE(Send)
PHASE(Recv)
PHASE(Isend_Wait)
PHASE(Irecv_Wait)
PHASE(end)

/* Rank 1 makes the other half of each message. */
static void send(void)
{
    MPI_Send(memory, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
}

static void recv(void)
{
    MPI_Recv(memory, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void isend(void)
{
    MPI_Request request;

    MPI_Isend(memory, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void irecv(void)
{
    MPI_Request request;

    MPI_Irecv(memory, bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void phase(void (*begin)(void), void (*mine)(void), void (*other)(void))
{
    begin();
    for (int lap = 0; lap < laps; lap++)
        (rank == 0 ? mine : other)();
}

static void all_phases(void)
{
    phase(phase_Send, send, recv);
    phase(phase_Recv, recv, send);
    phase(phase_Isend_Wait, isend, recv);
    phase(phase_Irecv_Wait, irecv, send);
    phase_end();
}

static uintptr_t find(const char *name, int version)
{
    void *found = mgds_libcuda_find(name, version);

    CHECK(found);
    return (uintptr_t)found;
}

/* GPU memory is remembered, so that other memory must be told from it. */
static void send_from_gpu(CUcontext ctx)
{
    CUresult (*current)(CUcontext) =
        (CUresult(*)(CUcontext))find("cuCtxSetCurrent", 4000);
    CUresult (*alloc)(CUdeviceptr *, size_t) =
        (CUresult(*)(CUdeviceptr *, size_t))find("cuMemAlloc", 3020);
    CUdeviceptr gpu;

    CHECK(current(ctx) == CUDA_SUCCESS && alloc(&gpu, 8) == CUDA_SUCCESS);
    MPI_Sendrecv((void *)(uintptr_t)gpu, 8, MPI_BYTE, 1 - rank, TAG, memory, 8,
                 MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void cuda_as_asked(const char *state)
{
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*init)(unsigned);
    CUcontext ctx = NULL;
    char why[256];

    if (strcmp(state, "none") == 0)
        return;
    CHECK(mgds_libcuda_open(why) == 0);
    init = (CUresult(*)(unsigned))find("cuInit", 2000);
    retain = (CUresult(*)(CUcontext *, CUdevice))find(
        "cuDevicePrimaryCtxRetain", 7000);
    if (strcmp(state, "loaded") != 0)
        CHECK(init(0) == CUDA_SUCCESS);
    if (strcmp(state, "context") == 0 || strcmp(state, "gpu") == 0)
        CHECK(retain(&ctx, 0) == CUDA_SUCCESS);
    if (strcmp(state, "gpu") == 0)
        send_from_gpu(ctx);
}

int main(int argc, char **argv)
{
    char on_stack[1024];

    CHECK(argc == 5);
    laps = atoi(argv[1]);
    bytes = atoi(argv[4]);
    CHECK(bytes <= (int)sizeof(on_stack));
    memory = on_stack;
    if (strcmp(argv[2], "mapped") == 0)
        memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 0, sizeof(on_stack));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cuda_as_asked(argv[3]);
    all_phases(); /* what is found at first use */
    all_phases();
    MPI_Finalize();
    memory = NULL;
    return 0;
}
