/*
 * Collectives on GPU memory at the edges: memory that is not there any more,
 * arguments that are wrong, absolute addresses, many at a time, threads.
 *
 * gpu_coll_edge short: only what must hold when allocations fail.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/lib/gpu.h"
#include "tests/lib/mpi_check.h"

enum { COUNT = 1000, BYTES = COUNT * (int)sizeof(int), SKIPPED = 77 };

static int rank, size;

static struct mgds_test_memory gpu(size_t bytes)
{
    struct mgds_test_memory memory;

    CHECK(!mgds_test_memory_alloc(&memory, MGDS_TEST_DEVICE, bytes));
    return memory;
}

static void put_all(struct mgds_test_memory *memory, int value)
{
    int host[COUNT];

    for (int i = 0; i < COUNT; i++)
        host[i] = value + i;
    mgds_test_memory_write(memory, host, sizeof(host));
}

/* Element i is value + step * i. */
static bool holds(const struct mgds_test_memory *memory, int value, int step)
{
    int host[COUNT];

    mgds_test_memory_read(memory, host, sizeof(host));
    for (int i = 0; i < COUNT; i++)
        if (host[i] != value + step * i)
            return false;
    return true;
}

static int class_of(int code)
{
    int class = -1;

    if (code == MPI_SUCCESS)
        return MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

/* A communicator of one rank that returns errors. */
static MPI_Comm forgiving(MPI_Comm of)
{
    MPI_Comm comm;

    MPI_Comm_dup(of, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static void check_works(MPI_Comm comm)
{
    struct mgds_test_memory a = gpu(BYTES), b = gpu(BYTES);

    put_all(&a, 5);
    CHECK(MPI_Allreduce(a.at, b.at, COUNT, MPI_INT, MPI_MAX, comm) ==
          MPI_SUCCESS);
    CHECK(holds(&b, 5, 1));
    mgds_test_memory_free(&a);
    mgds_test_memory_free(&b);
}

static void memory_that_was_freed_is_an_error(void)
{
    MPI_Comm comm = forgiving(MPI_COMM_SELF);
    struct mgds_test_memory freed = gpu(BYTES), fine = gpu(BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    int counts[] = {COUNT}, displs[] = {0};

    put_all(&fine, 1);
    CHECK(MPI_Bcast(freed.at, COUNT, MPI_INT, 0, comm) == MPI_SUCCESS);
    mgds_test_memory_free(&freed);
    CHECK(class_of(MPI_Allreduce(freed.at, fine.at, COUNT, MPI_INT, MPI_SUM,
                                 comm)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Iallreduce(fine.at, freed.at, COUNT, MPI_INT, MPI_SUM,
                                  comm, &request)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Gatherv(fine.at, COUNT, MPI_INT, freed.at, counts,
                               displs, MPI_INT, 0, comm)) == MPI_ERR_BUFFER);
    CHECK(request == MPI_REQUEST_NULL && holds(&fine, 1, 1));
    mgds_test_memory_free(&fine);
    check_works(comm);
    MPI_Comm_free(&comm);
}

static void a_buffer_that_ends_early_is_an_error(void)
{
    MPI_Comm comm = forgiving(MPI_COMM_SELF);
    struct mgds_test_memory small = gpu(BYTES), fine = gpu(BYTES);

    CHECK(class_of(MPI_Scan(small.at, fine.at, 1 << 24, MPI_INT, MPI_SUM,
                            comm)) == MPI_ERR_BUFFER);
    check_works(comm);
    mgds_test_memory_free(&small);
    mgds_test_memory_free(&fine);
    MPI_Comm_free(&comm);
}

static void wrong_arguments_are_the_mpi_librarys_to_refuse(void)
{
    MPI_Comm comm = forgiving(MPI_COMM_WORLD);
    struct mgds_test_memory a = gpu(BYTES), b = gpu(BYTES);
    int counts[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, displs[8] = {0};

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Bcast(a.at, COUNT, MPI_INT, size + 3, comm)) ==
          MPI_ERR_ROOT);
    CHECK(class_of(MPI_Bcast(a.at, -1, MPI_INT, 0, comm)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Bcast(a.at, COUNT, MPI_DATATYPE_NULL, 0, comm)) ==
          MPI_ERR_TYPE);
    CHECK(class_of(MPI_Allreduce(a.at, b.at, COUNT, MPI_INT, MPI_OP_NULL,
                                 comm)) == MPI_ERR_OP);
    CHECK(class_of(MPI_Allgather(a.at, 1, MPI_INT, b.at, 1, MPI_INT,
                                 MPI_COMM_NULL)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Alltoallv(a.at, counts, displs, MPI_INT, b.at, counts,
                                 displs, MPI_INT, comm)) == MPI_ERR_COUNT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    check_works(comm);
    mgds_test_memory_free(&a);
    mgds_test_memory_free(&b);
    MPI_Comm_free(&comm);
}

static void nothing_may_be_given_as_nothing(void)
{
    CHECK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void reduce_local_reads_and_adds(void)
{
    static const bool places[][2] = {
        {true, true}, {true, false}, {false, true}};

    for (int i = 0; i < 3; i++) {
        struct mgds_test_memory in = gpu(BYTES), inout = gpu(BYTES);
        int host[COUNT];

        put_all(&in, 1);
        put_all(&inout, 10);
        for (int j = 0; j < COUNT; j++)
            host[j] = (places[i][0] ? 10 : 1) + j;
        CHECK(MPI_Reduce_local(places[i][0] ? (void *)in.at : host,
                               places[i][1] ? (void *)inout.at : host, COUNT,
                               MPI_INT, MPI_SUM) == MPI_SUCCESS);
        if (places[i][1])
            CHECK(holds(&inout, 11, 2));
        else
            CHECK(host[0] == 11 && host[COUNT - 1] == 11 + 2 * (COUNT - 1));
        mgds_test_memory_free(&in);
        mgds_test_memory_free(&inout);
    }
}

/* Half of the elements of each buffer, named by their addresses. */
static MPI_Datatype absolute(const struct mgds_test_memory *memory)
{
    int lengths[] = {COUNT / 4, COUNT / 4};
    MPI_Aint displs[2];
    MPI_Datatype type;

    MPI_Get_address(memory->at, &displs[0]);
    displs[1] = displs[0] + BYTES / 2;
    MPI_Type_create_hindexed(2, lengths, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void check_quarters(const struct mgds_test_memory *memory, int value,
                           int old)
{
    int host[COUNT];

    mgds_test_memory_read(memory, host, sizeof(host));
    for (int i = 0; i < COUNT; i++)
        CHECK(host[i] == (i / (COUNT / 4) % 2 ? old : value) + i);
}

static void addresses_may_be_in_the_type(void)
{
    struct mgds_test_memory a = gpu(BYTES), b = gpu(BYTES);
    MPI_Datatype sends[8], receives[8];
    int counts[8] = {0}, displs[8] = {0};
    int peer = size - 1 - rank;

    put_all(&a, 100 * rank);
    put_all(&b, -7);
    for (int i = 0; i < size; i++)
        sends[i] = receives[i] = MPI_INT;
    counts[peer] = 1;
    sends[peer] = absolute(&a);
    receives[peer] = absolute(&b);
    MPI_Alltoallw(MPI_BOTTOM, counts, displs, sends, MPI_BOTTOM, counts, displs,
                  receives, MPI_COMM_WORLD);
    check_quarters(&b, 100 * peer, -7);
    MPI_Bcast(MPI_BOTTOM, 1, sends[peer], 0, MPI_COMM_WORLD);
    check_quarters(&a, 0, 100 * rank);
    MPI_Type_free(&sends[peer]);
    MPI_Type_free(&receives[peer]);
    mgds_test_memory_free(&a);
    mgds_test_memory_free(&b);
}

/* Where MPICH 4.0.2 takes the displacement for 0. */
static void a_single_rank_has_displacements_too(void)
{
    struct mgds_test_memory a = gpu(BYTES), b = gpu(BYTES);
    int count = 10, displ = 5, host[COUNT];

    put_all(&a, 50);
    put_all(&b, 0);
    MPI_Allgatherv(a.at, count, MPI_INT, b.at, &count, &displ, MPI_INT,
                   MPI_COMM_SELF);
    mgds_test_memory_read(&b, host, sizeof(host));
    for (int i = 0; i < COUNT; i++)
        CHECK(host[i] == (i >= displ && i < displ + count ? 45 : 0) + i);
    mgds_test_memory_free(&a);
    mgds_test_memory_free(&b);
}

enum { MANY = 12 };

static void finish(MPI_Request requests[MANY], int how)
{
    MPI_Status statuses[MANY];
    int done = 0, count, which[MANY];

    if (how == 0)
        MPI_Waitall(MANY, requests, statuses);
    while (how == 1 && done < MANY) {
        MPI_Waitsome(MANY, requests, &count, which, statuses);
        done += count;
    }
    for (int i = MANY - 1; how == 2 && i >= 0; i--)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void many_at_a_time_complete_in_any_order(void)
{
    struct mgds_test_memory in[MANY], out[MANY];
    MPI_Request requests[MANY];

    for (int i = 0; i < MANY; i++) {
        in[i] = gpu(BYTES);
        out[i] = gpu(BYTES);
    }
    for (int how = 0; how < 3; how++) {
        for (int i = 0; i < MANY; i++) {
            put_all(&in[i], i + rank);
            put_all(&out[i], -1);
            MPI_Iallreduce(in[i].at, out[i].at, COUNT, MPI_INT, MPI_SUM,
                           MPI_COMM_WORLD, &requests[i]);
        }
        finish(requests, how);
        for (int i = 0; i < MANY; i++)
            CHECK(holds(&out[i], size * i + size * (size - 1) / 2, size));
    }
    for (int i = 0; i < MANY; i++) {
        mgds_test_memory_free(&in[i]);
        mgds_test_memory_free(&out[i]);
    }
}

static void persistent_ones_copy_at_each_start(void)
{
    struct mgds_test_memory in = gpu(BYTES), out = gpu(BYTES);
    MPI_Request requests[2];

    MPI_Bcast_init(in.at, COUNT, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    /* Never started. */
    MPI_Alltoall_init(in.at, COUNT, MPI_INT, out.at, COUNT, MPI_INT,
                      MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
    for (int lap = 0; lap < 3; lap++) {
        put_all(&in, 10 * lap + rank);
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(holds(&in, 10 * lap, 1));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    mgds_test_memory_free(&in);
    mgds_test_memory_free(&out);
}

enum { THREADS = 2, LAPS = 20 };

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    struct mgds_test_memory in, out;
};

/* The driver's context is current in each thread that copies by itself: here
   only the library does. */
static void *work(void *arg)
{
    struct worker *worker = arg;
    MPI_Request request;

    for (int lap = 0; lap < LAPS; lap++) {
        MPI_Allreduce(worker->in.at, worker->out.at, COUNT, MPI_INT, MPI_SUM,
                      worker->comm);
        MPI_Ibcast(worker->out.at, COUNT, MPI_INT, 0, worker->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads_have_collectives_of_their_own(void)
{
    struct worker workers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i].in = gpu(BYTES);
        workers[i].out = gpu(BYTES);
        put_all(&workers[i].in, i);
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    for (int i = 0; i < THREADS; i++) {
        CHECK(!pthread_join(workers[i].thread, NULL));
        CHECK(holds(&workers[i].out, size * i, size));
        mgds_test_memory_free(&workers[i].in);
        mgds_test_memory_free(&workers[i].out);
        MPI_Comm_free(&workers[i].comm);
    }
}

static int gather(int how, const void *from, void *to, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int count = COUNT, displ = 0, rc;

    if (how == 0)
        return MPI_Alltoallv(from, &count, &displ, MPI_INT, to, &count, &displ,
                             MPI_INT, comm);
    if (how == 1)
        rc = MPI_Iallgather(from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm,
                            &request);
    else
        rc = MPI_Allreduce_init(from, to, COUNT, MPI_INT, MPI_MAX, comm,
                                MPI_INFO_NULL, &request);
    if (rc != MPI_SUCCESS) {
        CHECK(request == MPI_REQUEST_NULL);
        return rc;
    }
    if (how == 2)
        MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (how == 2)
        MPI_Request_free(&request);
    return rc;
}

/* One allocation of the library fails somewhere in here, once, if the library
   was asked for that (MPIX_GDS_FAULT). */
static void a_failed_allocation_fails_one_call(void)
{
    MPI_Comm comm = forgiving(MPI_COMM_SELF);
    struct mgds_test_memory a = gpu(BYTES), b = gpu(BYTES);
    int failed = 0;

    put_all(&a, 3);
    for (int lap = 0; lap < 6; lap++) {
        int rc;

        put_all(&b, 0);
        rc = gather(lap % 3, a.at, b.at, comm);
        CHECK(rc == MPI_SUCCESS || class_of(rc) == MPI_ERR_NO_MEM);
        CHECK(holds(&b, rc == MPI_SUCCESS ? 3 : 0, 1));
        failed += rc != MPI_SUCCESS;
    }
    CHECK(failed <= 1);
    mgds_test_memory_free(&a);
    mgds_test_memory_free(&b);
    MPI_Comm_free(&comm);
}

static void run_all(int provided)
{
    memory_that_was_freed_is_an_error();
    a_buffer_that_ends_early_is_an_error();
    wrong_arguments_are_the_mpi_librarys_to_refuse();
    nothing_may_be_given_as_nothing();
    reduce_local_reads_and_adds();
    addresses_may_be_in_the_type();
    a_single_rank_has_displacements_too();
    many_at_a_time_complete_in_any_order();
    persistent_ones_copy_at_each_start();
    if (provided == MPI_THREAD_MULTIPLE)
        threads_have_collectives_of_their_own();
}

int main(int argc, char **argv)
{
    int provided;
    char why[256];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (mgds_test_gpu_open(rank, why) < 0) {
        if (rank == 0)
            printf("skipped: %s\n", why);
        MPI_Finalize();
        return SKIPPED;
    }
    a_failed_allocation_fails_one_call();
    if (argc < 2)
        run_all(provided);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("gpu_coll_edge: all well");
    MPI_Finalize();
    return 0;
}
