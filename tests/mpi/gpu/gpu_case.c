/* Buffers with a known filling. */
#include "tests/mpi/gpu/gpu_case.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int gpu_rank, gpu_size;

static atomic_int errors;

void gpu_begin(int *argc, char ***argv)
{
    gpu_begin_at(argc, argv, MPI_THREAD_MULTIPLE);
}

void gpu_begin_at(int *argc, char ***argv, int level)
{
    int provided;

    MPI_Init_thread(argc, argv, level, &provided);
    CHECK(provided >= level);
    gpu_open();
}

void gpu_open(void)
{
    char why[256];

    MPI_Comm_rank(MPI_COMM_WORLD, &gpu_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &gpu_size);
    if (mgds_test_gpu_open(gpu_rank, why) < 0) {
        MPI_Finalize();
        printf("skipped: %s\n", why);
        exit(77);
    }
}

void gpu_end(const char *name)
{
    int finalized;

    MPI_Finalized(&finalized);
    if (!finalized)
        MPI_Finalize();
    if (gpu_rank == 0)
        printf("%s: all well\n", name);
}

static unsigned char byte_of(size_t i, int seed)
{
    return seed < 0 ? 0xee : (unsigned char)((size_t)seed + i * 7);
}

void gpu_read(void *to, const char *from, size_t bytes)
{
    struct mgds_test_memory memory = {
        .kind = MGDS_TEST_DEVICE, .at = (char *)from, .bytes = bytes};

    mgds_test_memory_read(&memory, to, bytes);
}

void gpu_write(char *to, const void *from, size_t bytes)
{
    struct mgds_test_memory memory = {
        .kind = MGDS_TEST_DEVICE, .at = to, .bytes = bytes};

    mgds_test_memory_write(&memory, from, bytes);
}

void gpu_fill(char *at, size_t bytes, int seed)
{
    unsigned char *host = malloc(bytes + 1);

    CHECK(host);
    for (size_t i = 0; i < bytes; i++)
        host[i] = byte_of(i, seed);
    gpu_write(at, host, bytes);
    free(host);
}

char *gpu_new(size_t bytes, int seed)
{
    struct mgds_test_memory memory;

    CHECK(mgds_test_memory_alloc(&memory, MGDS_TEST_DEVICE, bytes) == 0);
    gpu_fill(memory.at, bytes, seed);
    return memory.at;
}

void gpu_delete(char *at)
{
    struct mgds_test_memory memory = {.kind = MGDS_TEST_DEVICE, .at = at};

    mgds_test_memory_free(&memory);
}

int gpu_holds(const char *at, size_t from, size_t to, int seed)
{
    unsigned char *host = malloc(to + 1);
    int good = 1;

    CHECK(host);
    gpu_read(host, at, to);
    for (size_t i = from; i < to && good; i++) {
        good = host[i] == byte_of(i, seed);
        if (!good)
            fprintf(stderr, "byte %zu is 0x%02x, should be 0x%02x\n", i,
                    host[i], byte_of(i, seed));
    }
    free(host);
    return good;
}

void gpu_meet(char *from, int bytes)
{
    char *to = gpu_new((size_t)bytes, -1);
    int other = 1 - gpu_rank;

    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(from, bytes, MPI_BYTE, other, 0, to, bytes, MPI_BYTE,
                     other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    gpu_delete(to);
    MPI_Barrier(MPI_COMM_WORLD);
}

void gpu_run_way(const struct gpu_way *ways, const char *name)
{
    while (ways->name && strcmp(ways->name, name) != 0)
        ways++;
    CHECK(ways->name);
    ways->run();
}

int gpu_complete_some(int way, int count, MPI_Request *requests,
                      MPI_Status *statuses, int *indices)
{
    int completed = 0, flag = 0;

    if (way == 0) {
        MPI_Waitsome(count, requests, &completed, indices, statuses);
    } else if (way == 1) {
        MPI_Testsome(count, requests, &completed, indices, statuses);
    } else if (way == 2) {
        MPI_Waitany(count, requests, indices, statuses);
        completed = 1;
    } else {
        MPI_Testany(count, requests, indices, &flag, statuses);
        completed = flag;
    }
    return completed;
}

int gpu_class(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    atomic_fetch_add(&errors, 1);
}

void gpu_count_errors(MPI_Comm comm)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    atomic_store(&errors, 0);
}

int gpu_errors(void)
{
    return atomic_load(&errors);
}

int gpu_bytes(MPI_Status *status)
{
    int bytes = -1;

    MPI_Get_count(status, MPI_BYTE, &bytes);
    return bytes;
}

MPI_Status *gpu_ignored(void)
{
    return MPI_STATUSES_IGNORE;
}
