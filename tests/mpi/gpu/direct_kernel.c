/*
 * Several short messages by header that have come when their receives are
 * completed, by argument
 *   copies   a kernel of the library's copies some of them
 *   full     it cannot, for the program's own kernel fills the GPU, and is over
 *            when the messages are there: copy engines copy all
 *   blocking as copies, where launches block: copy engines copy all
 * Two ranks, each with a GPU of its own.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "include/mpix_gds.h"
#include "tests/mpi/gpu/gpu_case.h"
#include "tests/sim/kernels.h"

enum { MANY = 6, BYTES = 8192, ALL = MANY * BYTES };

static char *buffer;

static int64_t counted(const char *name)
{
    int64_t value = 0;

    CHECK(MPIX_Gds_counter(MPIX_GDS_COUNTER_NAMED, &name, NULL, &value) ==
          MPI_SUCCESS);
    return value;
}

/* All have come when the first receive is posted. */
static void send_all(void)
{
    MPI_Request requests[MANY];

    for (int i = 0; i < MANY; i++)
        MPI_Isend(buffer + (size_t)i * BYTES, BYTES, MPI_BYTE, 1, i,
                  MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(MANY, requests, gpu_ignored());
}

static void receive_all(void)
{
    MPI_Request requests[MANY];

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(buffer + (size_t)i * BYTES, BYTES, MPI_BYTE, 0, i,
                  MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(MANY, requests, gpu_ignored());
}

static void move_all(int seed)
{
    gpu_fill(buffer, ALL, gpu_rank == 0 ? seed : -1);
    if (gpu_rank == 0)
        send_all();
    else
        receive_all();
}

/* The receiver says whether the count is what is wanted; a sender that has to
 * wait for long, since the machine is busy, takes its messages back. */
static bool is_enough(const char *name, int64_t least)
{
    int enough = counted(name) >= least;

    MPI_Bcast(&enough, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return enough;
}

/* A kernel that is late makes the next ones wait, for a second. */
static void copies(void)
{
    for (int seed = 0; !is_enough("direct_kernels", 1); seed++) {
        move_all(seed);
        CHECK(gpu_holds(buffer, 0, ALL, seed));
    }
}

static void blocking(void)
{
    for (int seed = 0; seed < 5; seed++) {
        move_all(seed);
        CHECK(gpu_holds(buffer, 0, ALL, seed));
    }
    CHECK(counted("direct_kernels") == 0);
    CHECK(counted("direct_kernels_late") == 0);
}

static CUfunction find_kernel(void)
{
    CUmodule module;
    CUfunction found;

    MGDS_CU(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"
                                      ".visible .entry meet() { ret; }\n"));
    MGDS_CU(cuModuleGetFunction(&found, module, "meet"));
    return found;
}

/* The kernel adds 1 to the word, and runs until that is at least 1. */
static CUstream fill_gpu(uint32_t *word)
{
    struct meet_args args = {.arrived = (uintptr_t)word, .rounds = 1};
    void *params[] = {&args};
    CUstream stream;

    __atomic_store_n(word, UINT32_MAX, __ATOMIC_RELEASE);
    MGDS_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MGDS_CU(cuLaunchKernel(find_kernel(), 1, 1, 1, 32, 1, 1, 0, stream, params,
                           NULL));
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
    return stream;
}

static void receive_in_full_gpu(uint32_t *word)
{
    CUstream stream = fill_gpu(word);

    receive_all();
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    MGDS_CU(cuStreamSynchronize(stream));
    MGDS_CU(cuStreamDestroy(stream));
}

static void full(void)
{
    void *word;

    MGDS_CU(cuMemHostAlloc(&word, sizeof(uint32_t), 0));
    for (int seed = 0; !is_enough("direct_kernels_late", 3); seed++) {
        gpu_fill(buffer, ALL, gpu_rank == 0 ? seed : -1);
        if (gpu_rank == 0)
            send_all();
        else
            receive_in_full_gpu((uint32_t *)word);
        CHECK(gpu_holds(buffer, 0, ALL, seed));
    }
    MGDS_CU(cuMemFreeHost(word));
    CHECK(counted("direct_kernels") == 0);
}

/* The program's kernel is the software GPU's. */
static int is_software(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    return library && dlsym(library, "mgds_sim_calls");
}

int main(int argc, char **argv)
{
    static const struct gpu_way ways[] = {{"copies", copies},
                                          {"full", full},
                                          {"blocking", blocking},
                                          {NULL, NULL}};

    gpu_begin(&argc, &argv);
    if (!is_software()) {
        MPI_Finalize();
        printf("skipped: the program's kernel is for the software GPU\n");
        return 77;
    }
    buffer = gpu_new(ALL, 1);
    gpu_meet(buffer, BYTES);
    gpu_run_way(ways, argc > 1 ? argv[1] : "");
    gpu_delete(buffer);
    gpu_end("kernel");
    return 0;
}
