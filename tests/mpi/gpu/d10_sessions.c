/*
 * Programs that have sessions only: MPI_COMM_SELF and MPI_COMM_WORLD are not
 * there, so errors that are tied to no communicator go to the handler of the
 * session that has been open for longest; those of communicators to their own.
 *
 *   d10_sessions sessions | world
 *
 * world: MPI_Init comes later, and MPI_Finalize before the sessions' end. In
 * between MPI_COMM_SELF's handler hears of them.
 */
#include <mpix_gds.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { SENT = 64, ROOM = 32, TAG = 2 };

/* Who heard, of what. */
enum hearer { NOBODY, FIRST, SECOND, COMM, SELF };
static struct {
    enum hearer who;
    int class, times;
} heard;

static MPI_Session first, second;
static MPI_Comm comm;

static void note(enum hearer who, int code)
{
    heard.who = who;
    heard.class = gpu_class(code);
    heard.times++;
}

static void on_session(MPI_Session *session, int *code, ...)
{
    note(*session == first ? FIRST : SECOND, *code);
}

static void on_comm(MPI_Comm *where, int *code, ...)
{
    (void)where;
    note(COMM, *code);
}

static void on_self(MPI_Comm *where, int *code, ...)
{
    CHECK(*where == MPI_COMM_SELF);
    note(SELF, *code);
}

/* The call gave this class, and so heard who should, once. */
static void told(int code, enum hearer who, int class)
{
    CHECK(gpu_class(code) == class);
    CHECK(heard.times == 1 && heard.who == who && heard.class == class);
    memset(&heard, 0, sizeof(heard));
}

static MPI_Session open_session(void)
{
    MPI_Errhandler handler;
    MPI_Session session;

    /* MPICH 4.0.2 makes no handler before a session is open */
    CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(!MPI_Session_create_errhandler(on_session, &handler));
    CHECK(!MPI_Session_set_errhandler(session, handler));
    MPI_Errhandler_free(&handler);
    return session;
}

static void handle_on(MPI_Comm on, MPI_Comm_errhandler_function *function)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(on, handler);
    MPI_Errhandler_free(&handler);
}

static void open_comm(void)
{
    MPI_Group group;

    CHECK(!MPI_Group_from_session_pset(first, "mpi://WORLD", &group));
    CHECK(!MPI_Comm_create_from_group(group, "d10", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &comm));
    MPI_Group_free(&group);
    handle_on(comm, on_comm);
    MPI_Comm_rank(comm, &gpu_rank);
    MPI_Comm_size(comm, &gpu_size);
}

static MPIX_Stream new_stream(CUstream *native)
{
    MPIX_Stream stream;
    MPI_Info info;

    MGDS_CU(cuStreamCreate(native, 1));
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    CHECK(!MPIX_Info_set_hex(info, "value", native, (int)sizeof(CUstream)));
    CHECK(!MPIX_Stream_create(info, &stream));
    MPI_Info_free(&info);
    return stream;
}

static void wrong_streams(enum hearer who)
{
    MPIX_Stream stream, freed;
    MPI_Info info;

    told(MPIX_Stream_create(MPI_INFO_NULL, NULL), who, MPI_ERR_ARG);
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    told(MPIX_Stream_create(info, &stream), who, MPI_ERR_OTHER);
    MPI_Info_set(info, "value", "zz");
    told(MPIX_Stream_create(info, &stream), who, MPI_ERR_OTHER);
    MPI_Info_free(&info);
    CHECK(!MPIX_Stream_create(MPI_INFO_NULL, &stream));
    freed = stream;
    CHECK(!MPIX_Stream_free(&stream));
    told(MPIX_Stream_free(&freed), who, MPI_ERR_OTHER);
    told(MPIX_Stream_synchronize(freed, 1), who, MPI_ERR_OTHER);
    told(MPIX_Stream_progress(freed), who, MPI_ERR_OTHER);
}

static void wrong_infos(enum hearer who)
{
    MPI_Info info;
    long value;
    int flag;

    MPI_Info_create(&info);
    MPI_Info_set(info, "value", "zz");
    told(MPIX_Info_get_hex(info, "value", &value, sizeof(value), &flag), who,
         MPI_ERR_INFO_VALUE);
    told(MPIX_Info_get_hex(info, "value", NULL, 0, &flag), who, MPI_ERR_ARG);
    told(MPIX_Info_set_hex(info, "value", NULL, 8), who, MPI_ERR_ARG);
    MPI_Info_free(&info);
}

static void wrong_waits(enum hearer who)
{
    MPI_Request request;
    MPI_Status status;
    char byte;

    told(MPIX_Wait_enqueue(NULL, &status), who, MPI_ERR_ARG);
    told(MPIX_Waitall_enqueue(-1, &request, gpu_ignored()), who, MPI_ERR_COUNT);
    CHECK(!MPI_Irecv(&byte, 1, MPI_BYTE, gpu_rank, TAG, comm, &request));
    told(MPIX_Wait_enqueue(&request, &status), who, MPI_ERR_REQUEST);
    CHECK(!MPI_Send(&byte, 1, MPI_BYTE, gpu_rank, TAG, comm));
    CHECK(!MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void wrong_buffers(char *gpu, enum hearer who)
{
    told(MPI_Buffer_attach(gpu, ROOM), who, MPI_ERR_BUFFER);
}

static void all_wrong(char *gpu, enum hearer who)
{
    wrong_streams(who);
    wrong_infos(who);
    wrong_waits(who);
    wrong_buffers(gpu, who);
}

/* A communicator has a handler of its own, as long as it is there. */
static void errors_of_communicators(MPIX_Stream stream, char *gpu)
{
    MPI_Comm on_stream;
    MPI_Request request;

    CHECK(!MPIX_Stream_comm_create(comm, stream, &on_stream));
    handle_on(on_stream, on_comm);
    told(MPIX_Send_enqueue(gpu, SENT, MPI_BYTE, gpu_size, TAG, on_stream), COMM,
         MPI_ERR_RANK);
    told(MPIX_Send_enqueue(gpu, SENT, MPI_BYTE, 0, TAG, comm), COMM,
         MPI_ERR_OTHER);
    told(MPI_Irecv(gpu, -1, MPI_BYTE, 0, TAG, on_stream, &request), COMM,
         MPI_ERR_COUNT);
    CHECK(!MPI_Comm_free(&on_stream));
}

static void expect_truncated(enum hearer who)
{
    CHECK(heard.times == 1 && heard.who == who);
    CHECK(heard.class == MPI_ERR_TRUNCATE);
    memset(&heard, 0, sizeof(heard));
}

/* Who hears of a message that is too long for its receive when the communicator
 * has been freed. */
static void errors_of_freed_communicators(MPIX_Stream stream, char *gpu,
                                          enum hearer who)
{
    int peer = gpu_rank ^ 1;
    MPI_Comm freed;

    CHECK(!MPIX_Stream_comm_create(comm, stream, &freed));
    if (gpu_rank % 2) {
        CHECK(!MPIX_Recv_enqueue(gpu, ROOM, MPI_BYTE, peer, TAG, freed,
                                 MPI_STATUS_IGNORE));
        CHECK(!MPI_Comm_free(&freed));
    }
    MPI_Barrier(comm); /* the error comes when nothing has its handler */
    if (gpu_rank % 2 == 0) {
        CHECK(!MPIX_Send_enqueue(gpu, SENT, MPI_BYTE, peer, TAG, freed));
        CHECK(!MPI_Comm_free(&freed));
    }
    CHECK(!MPIX_Stream_synchronize(stream, 60));
    if (gpu_rank % 2)
        expect_truncated(who);
    CHECK(heard.times == 0);
    MPI_Barrier(comm);
}

static void open_gpu(void)
{
    char why[256];

    if (mgds_test_gpu_open(gpu_rank, why) < 0) {
        printf("skipped: %s\n", why);
        exit(77);
    }
}

static void with_world(char *gpu)
{
    CHECK(!MPI_Init(NULL, NULL));
    handle_on(MPI_COMM_SELF, on_self);
    all_wrong(gpu, SELF);
    CHECK(!MPI_Finalize());
}

int main(int argc, char **argv)
{
    bool world = argc > 1 && !strcmp(argv[1], "world");
    MPIX_Stream stream;
    CUstream native;
    char *gpu;
    int owed;

    first = open_session();
    second = open_session();
    open_comm();
    open_gpu();
    gpu = gpu_new(SENT, 1);
    stream = new_stream(&native);
    all_wrong(gpu, FIRST);
    if (world)
        with_world(gpu);
    errors_of_communicators(stream, gpu);
    errors_of_freed_communicators(stream, gpu, FIRST);
    all_wrong(gpu, FIRST);
    CHECK(!MPIX_Stream_free(&stream));
    CHECK(!MPI_Comm_free(&comm));
    CHECK(!MPI_Session_finalize(&first));
    wrong_streams(SECOND);
    wrong_infos(SECOND);
    gpu_delete(gpu);
    owed = MPI_Session_finalize(&second);
    CHECK(owed == (gpu_rank % 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    /* nobody is there to be told, and nobody ends the process */
    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_ERR_OTHER);
    if (gpu_rank == 0)
        printf("d10_sessions: all well\n");
    return 0;
}
