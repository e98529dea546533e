/*
 * Collectives that members vote on, made by the program where one member may
 * take them for a call of MPI's own: in a callback, inside of a call whose
 * shortcut another member has opened long before; and from deeper down than a
 * call that an error handler has left. And errors, which the communicator's
 * handler is to be told of; members of which one has a GPU; and arguments that
 * mean nothing between groups. Of 3 ranks.
 *
 * usage: gpu_coll_nested callback|jump|cut|one|between
 */
#include <setjmp.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 100000, LAPS = 5, BLOCK = 20000 };

static char data[BYTES];

/* What the last of all members says arrives. */
static int spread(MPI_Comm comm, int lap)
{
    int rank, size, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    memset(data, rank == size - 1 ? 'a' + lap : 0, sizeof(data));
    rc = MPI_Bcast(data, BYTES, MPI_BYTE, size - 1, comm);
    CHECK(data[0] == 'a' + lap && data[BYTES - 1] == 'a' + lap);
    return rc;
}

static int lap_of_callback;

static int goes(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    (void)comm;
    return spread(MPI_COMM_WORLD, lap_of_callback);
}

/* The first rank alone has called MPI_Comm_free before. */
static void in_a_callback(void)
{
    MPI_Comm comm;
    int rank, key;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, goes, &key, NULL);
    if (rank == 0) {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Comm_free(&comm);
    }
    for (lap_of_callback = 0; lap_of_callback < LAPS; lap_of_callback++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_attr(comm, key, NULL);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    MPI_Comm_free_keyval(&key);
}

static jmp_buf back;
static int jumps;

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    jumps++;
    longjmp(back, 1);
}

/* Deeper down than any frame of the call that was left. */
static __attribute__((noinline)) void from_below(int depth, int lap)
{
    volatile char frame[512];

    frame[0] = (char)depth;
    if (depth > 0)
        from_below(depth - 1, lap);
    else
        CHECK(spread(MPI_COMM_WORLD, lap) == MPI_SUCCESS);
    (void)frame[0];
}

/* Calls of the first rank's that it leaves: a collective and a send. */
static void leave(MPI_Comm comm, int lap)
{
    if (setjmp(back))
        return;
    if (lap % 2 == 0)
        MPI_Send(data, -1, MPI_BYTE, 0, 0, comm);
    else
        MPI_Bcast(data, -1, MPI_BYTE, 0, comm);
}

static void behind_a_jump(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    for (int lap = 0; lap < LAPS; lap++) {
        if (rank == 0)
            leave(comm, lap);
        CHECK(jumps == (rank == 0 ? lap + 1 : 0));
        from_below(20, lap);
    }
    MPI_Comm_free(&comm);
}

/* More than the root has room for, from host and from GPU memory. */
static void gather_too_much(MPI_Comm comm, char *mine, char *all)
{
    int rank, size, rc;
    int counts[8], displs[8];

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size && i < 8; i++) {
        counts[i] = i == 0 ? BYTES : BYTES / 2;
        displs[i] = i * BYTES;
    }
    rc = MPI_Gatherv(mine, BYTES, MPI_BYTE, all, counts, displs, MPI_BYTE, 0,
                     comm);
    if (rank == 0)
        CHECK(gpu_class(rc) == MPI_ERR_TRUNCATE);
}

/* The world's handler, which ends the job, is not asked. */
static void cut(void)
{
    static char mine[BYTES], all[8 * BYTES];
    char *gpu = gpu_new(BYTES, 1), *gpu_all = gpu_new((size_t)8 * BYTES, -1);

    for (int way = 0; way < 4; way++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        gather_too_much(comm, way & 1 ? gpu : mine, way & 2 ? gpu_all : all);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    gpu_delete(gpu);
    gpu_delete(gpu_all);
}

/* Block i of a member's goes from it to i; byte k of it is known. */
static char byte_of(int from, int to, int k)
{
    return (char)(from * 31 + to * 7 + k % 113);
}

static void fill(char *blocks, int rank, int size)
{
    for (int i = 0; i < size; i++)
        for (int k = 0; k < BLOCK; k++)
            blocks[i * BLOCK + k] = byte_of(rank, i, k);
}

static void check_exchanged(const char *blocks, int rank, int size)
{
    for (int i = 0; i < size; i++)
        for (int k = 0; k < BLOCK; k++)
            CHECK(blocks[i * BLOCK + k] == byte_of(i, rank, k));
}

/* The first rank's memory is a GPU's; the others have no CUDA in them. */
static void with_one_gpu(void)
{
    static char out[8 * BLOCK], in[8 * BLOCK];
    size_t bytes = (size_t)gpu_size * BLOCK;
    char *gpu_out = gpu_rank == 0 ? gpu_new(bytes, 1) : out;
    char *gpu_in = gpu_rank == 0 ? gpu_new(bytes, -1) : in;

    fill(out, gpu_rank, gpu_size);
    if (gpu_rank == 0)
        gpu_write(gpu_out, out, bytes);
    for (int lap = 0; lap < LAPS; lap++) {
        MPI_Alltoall(gpu_out, BLOCK, MPI_BYTE, gpu_in, BLOCK, MPI_BYTE,
                     MPI_COMM_WORLD);
        if (gpu_rank == 0)
            gpu_read(in, gpu_in, bytes);
        check_exchanged(in, gpu_rank, gpu_size);
        MPI_Bcast(gpu_out, BLOCK, MPI_BYTE, lap % gpu_size, MPI_COMM_WORLD);
        fill(out, gpu_rank, gpu_size);
        if (gpu_rank == 0)
            gpu_write(gpu_out, out, bytes);
    }
    if (gpu_rank == 0) {
        gpu_delete(gpu_out);
        gpu_delete(gpu_in);
    }
}

/* Between {0, 1} and {2}: to rank 0, where nothing is sent from. */
static void gather_between(MPI_Comm between)
{
    static char mine[BLOCK], theirs[BLOCK];
    int root = gpu_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;

    memset(mine, 'b', sizeof(mine));
    if (gpu_rank == 2)
        MPI_Gather(mine, BLOCK, MPI_BYTE, NULL, 0, MPI_DATATYPE_NULL, 0,
                   between);
    else
        MPI_Gather(NULL, BLOCK, (MPI_Datatype)7, theirs, BLOCK, MPI_BYTE, root,
                   between);
    CHECK(theirs[BLOCK - 1] == (gpu_rank == 0 ? 'b' : 0));
}

static void between_groups(void)
{
    MPI_Comm half, between;

    MPI_Comm_split(MPI_COMM_WORLD, gpu_rank == 2, gpu_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, gpu_rank == 2 ? 0 : 2, 5,
                         &between);
    gather_between(between);
    CHECK(spread(MPI_COMM_WORLD, 1) == MPI_SUCCESS);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

static void begin(int *argc, char ***argv, const char *way)
{
    int provided;

    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &gpu_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &gpu_size);
    if (gpu_rank == 0 || strcmp(way, "one") != 0)
        gpu_open();
}

int main(int argc, char **argv)
{
    static const struct gpu_way ways[] = {
        {"callback", in_a_callback}, {"jump", behind_a_jump},     {"cut", cut},
        {"one", with_one_gpu},       {"between", between_groups}, {NULL, NULL}};

    CHECK(argc == 2);
    begin(&argc, &argv, argv[1]);
    gpu_run_way(ways, argv[1]);
    gpu_end("coll nested");
    return 0;
}
