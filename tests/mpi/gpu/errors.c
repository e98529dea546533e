/*
 * What goes wrong: truncation, freed memory, a context that went, GPU memory
 * where it cannot be had. Each is an error of its class, told to an error
 * handler once, and returned. Errors of ours go to the communicator's (or
 * window's) handler, the world's being the one that aborts; truncation goes
 * where MPICH takes it: for messages to oneself, the world's or self's.
 */
#include <string.h>

#include "osu-extensions/libcuda.h"
#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 5000, TWICE = 2 * BYTES, TAG = 6 };

static MPI_Comm comm;

static void expect(int rc, int class, int told)
{
    if (gpu_class(rc) != class || gpu_errors() != told)
        fprintf(stderr, "class %d, should be %d; told %d times\n",
                gpu_class(rc), class, gpu_errors());
    CHECK(gpu_class(rc) == class);
    CHECK(gpu_errors() == told);
    gpu_count_errors(comm);
}

static void send_to_self(int bytes, MPI_Request *request)
{
    static char out[2 * BYTES];

    for (int i = 0; i < bytes; i++)
        out[i] = (char)(1 + i * 7);
    MPI_Isend(out, bytes, MPI_BYTE, 0, TAG, comm, request);
}

static void tell_all(void)
{
    gpu_count_errors(MPI_COMM_WORLD);
    gpu_count_errors(MPI_COMM_SELF);
}

static void tell_comm_only(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void truncated(void)
{
    char *in = gpu_new(TWICE, -1);
    MPI_Request out, requests[2];
    MPI_Status statuses[2];
    int flag = 0, index;
    int rc = MPI_SUCCESS;

    for (int way = 0; way < 5; way++) {
        gpu_fill(in, TWICE, -1);
        requests[1] = MPI_REQUEST_NULL;
        send_to_self(BYTES + 100, &out);
        if (way == 0) {
            rc = MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, comm, &statuses[0]);
            expect(rc, MPI_ERR_TRUNCATE, 1);
        } else {
            MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, comm, &requests[0]);
        }
        if (way == 1) {
            rc = MPI_Wait(&requests[0], &statuses[0]);
            expect(rc, MPI_ERR_TRUNCATE, 1);
        }
        if (way == 2) {
            rc = MPI_Waitany(2, requests, &index, &statuses[0]);
            expect(rc, MPI_ERR_TRUNCATE, 1);
        }
        if (way == 3) {
            rc = MPI_Waitall(2, requests, statuses);
            CHECK(gpu_class(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
            CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
            expect(rc, MPI_ERR_IN_STATUS, 1);
        }
        if (way == 4) {
            for (flag = 0; !flag && rc == MPI_SUCCESS;)
                rc = MPI_Test(&requests[0], &flag, &statuses[0]);
            expect(rc, MPI_ERR_TRUNCATE, 1);
        }
        rc = MPI_SUCCESS;
        MPI_Wait(&out, MPI_STATUS_IGNORE);
        CHECK(gpu_holds(in, 0, BYTES, 1));
        CHECK(gpu_holds(in, BYTES, TWICE, -1));
    }
    gpu_delete(in);
}

static void persistent_truncated(void)
{
    char *in = gpu_new(TWICE, -1);
    MPI_Request out, request;
    MPI_Status status;
    int rc;

    MPI_Recv_init(in, BYTES, MPI_BYTE, 0, TAG, comm, &request);
    MPI_Start(&request);
    send_to_self(BYTES + 1, &out);
    rc = MPI_Wait(&request, &status);
    expect(rc, MPI_ERR_TRUNCATE, 1);
    MPI_Wait(&out, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    CHECK(gpu_holds(in, BYTES, TWICE, -1));
    gpu_delete(in);
}

/* Fewer bytes than the element of a datatype with gaps, as in truncmsg2 of
 * MPICH's suite: an error as in MPICH, and no more than an error. */
static void ends_inside_an_element(void)
{
    enum { INTS = 3, ALL = 24 }; /* three ints, and gaps of one */
    char *in = gpu_new(ALL, -1);
    MPI_Datatype every_other;
    MPI_Request out, request;
    MPI_Status status;

    MPI_Type_vector(INTS, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Recv_init(in, 1, every_other, 0, TAG, comm, &request);
    for (int bytes = 3; bytes <= 9; bytes += 2) {
        send_to_self(bytes, &out);
        expect(MPI_Recv(in, 1, every_other, 0, TAG, comm, &status),
               MPI_ERR_TRUNCATE, 1);
        MPI_Wait(&out, MPI_STATUS_IGNORE);
        send_to_self(bytes, &out);
        MPI_Start(&request);
        expect(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE, 1);
        MPI_Wait(&out, MPI_STATUS_IGNORE);
    }
    send_to_self(8, &out);
    expect(MPI_Recv(in, 1, every_other, 0, TAG, comm, &status), MPI_SUCCESS, 0);
    MPI_Wait(&out, MPI_STATUS_IGNORE);
    CHECK(gpu_bytes(&status) == 8);
    CHECK(gpu_holds(in, 0, 4, 1) && gpu_holds(in, 4, 8, -1));
    CHECK(gpu_holds(in, 16, ALL, -1));
    MPI_Request_free(&request);
    MPI_Type_free(&every_other);
    gpu_delete(in);
}

static void freed(void)
{
    char *gone = gpu_new(BYTES, 1);
    char *in = gpu_new(BYTES, -1);
    MPI_Request out, request, start;
    MPI_Status status;
    int rc;

    /* While a receive is under way. */
    MPI_Irecv(gone, BYTES, MPI_BYTE, 0, TAG, comm, &request);
    MPI_Send_init(gone, BYTES, MPI_BYTE, 0, TAG + 1, comm, &start);
    gpu_delete(gone);
    send_to_self(BYTES, &out);
    rc = MPI_Wait(&request, &status);
    expect(rc, MPI_ERR_BUFFER, 1);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Wait(&out, MPI_STATUS_IGNORE);
    rc = MPI_Start(&start);
    expect(rc, MPI_ERR_BUFFER, 1);
    MPI_Request_free(&start);
    /* Before the call. */
    rc = MPI_Isend(gone, BYTES, MPI_BYTE, 0, TAG, comm, &request);
    expect(rc, MPI_ERR_BUFFER, 1);
    rc = MPI_Send(in, BYTES + 4096, MPI_BYTE, 0, TAG, comm);
    expect(rc, MPI_ERR_BUFFER, 1);
    gpu_delete(in);
}

/* What is received fails while the other half is still being sent: that ends
 * neither, and the next message to be staged does not get its memory. */
static void one_half_failed(void)
{
    enum { LONG = 1 << 20 };
    char *out = gpu_new(LONG, 5), *next = gpu_new(LONG, 77);
    char *gone = gpu_new(BYTES, -1), *in = gpu_new(LONG, -1);
    MPI_Request request, small, other;
    MPI_Status status;
    int flag = 0;

    MPI_Isendrecv(out, LONG, MPI_BYTE, 0, TAG, gone, BYTES, MPI_BYTE, 0,
                  TAG + 1, comm, &request);
    gpu_delete(gone);
    MPI_Isend("gone", 5, MPI_BYTE, 0, TAG + 1, comm, &small);
    for (int i = 0; i < 20; i++)
        CHECK(!MPI_Test(&request, &flag, &status) && !flag);
    MPI_Isend(next, LONG, MPI_BYTE, 0, TAG + 2, comm, &other);
    MPI_Recv(in, LONG, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE);
    CHECK(gpu_holds(in, 0, LONG, 5));
    expect(MPI_Wait(&request, &status), MPI_ERR_BUFFER, 1);
    MPI_Recv(in, LONG, MPI_BYTE, 0, TAG + 2, comm, MPI_STATUS_IGNORE);
    CHECK(gpu_holds(in, 0, LONG, 77));
    MPI_Wait(&small, MPI_STATUS_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    gpu_delete(in);
    gpu_delete(next);
    gpu_delete(out);
}

static void *driver_call(const char *name, int version)
{
    void *found = mgds_libcuda_find(name, version);

    CHECK(found);
    return found;
}

/* The context of a buffer goes before a persistent send of it is started. */
static void context_gone(void)
{
    CUresult (*create)(CUcontext *, unsigned, CUdevice);
    CUresult (*destroy)(CUcontext);
    void *found = driver_call("cuCtxCreate", 3020);
    CUcontext primary, passing;
    MPI_Request request;
    char *in;
    int rc;

    memcpy(&create, &found, sizeof(found));
    found = driver_call("cuCtxDestroy", 4000);
    memcpy(&destroy, &found, sizeof(found));
    MGDS_CU(cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(create(&passing, 0, 0) == CUDA_SUCCESS);
    mgds_test_cu_check(mgds_cu.cuMemAlloc((CUdeviceptr *)(void *)&in, BYTES),
                       "cuMemAlloc");
    MPI_Send_init(in, BYTES, MPI_BYTE, 0, TAG, comm, &request);
    CHECK(destroy(passing) == CUDA_SUCCESS);
    MGDS_CU(cuCtxSetCurrent(primary));
    rc = MPI_Start(&request);
    expect(rc, MPI_ERR_OTHER, 1);
    MPI_Request_free(&request);
}

static void bad_arguments(void)
{
    char *in = gpu_new(BYTES, -1);
    MPI_Request request;

    expect(MPI_Send(in, -1, MPI_BYTE, 0, TAG, comm), MPI_ERR_COUNT, 1);
    expect(MPI_Send(in, 1, MPI_BYTE, 99, TAG, comm), MPI_ERR_RANK, 1);
    expect(MPI_Isend(in, 1, MPI_BYTE, 0, -7, comm, &request), MPI_ERR_TAG, 1);
    expect(MPI_Irecv(in, 1, MPI_BYTE, 99, TAG, comm, &request), MPI_ERR_RANK,
           1);
    expect(MPI_Send(in, 1, MPI_DATATYPE_NULL, 0, TAG, comm), MPI_ERR_TYPE, 1);
    expect(MPI_Recv_init(in, 1, MPI_BYTE, 99, TAG, comm, &request),
           MPI_ERR_RANK, 1);
    gpu_delete(in);
}

/* The MPI below never sees the type of what goes packed. */
static void uncommitted(void)
{
    char *in = gpu_new(BYTES, -1);
    MPI_Request request;
    MPI_Datatype type, dense;

    MPI_Type_vector(10, 1, 3, MPI_INT, &type);
    MPI_Type_contiguous(3, MPI_INT, &dense);
    for (int turn = 0; turn < 2; turn++) {
        expect(MPI_Send(in, 1, type, 0, TAG, comm), MPI_ERR_TYPE, 1);
        expect(MPI_Recv(in, 1, type, 0, TAG, comm, MPI_STATUS_IGNORE),
               MPI_ERR_TYPE, 1);
        expect(MPI_Isend(in, 1, type, 0, TAG, comm, &request), MPI_ERR_TYPE, 1);
        expect(MPI_Irecv(in, 1, type, 0, TAG, comm, &request), MPI_ERR_TYPE, 1);
        expect(MPI_Send_init(in, 1, type, 0, TAG, comm, &request), MPI_ERR_TYPE,
               1);
        expect(MPI_Isend(in, 1, dense, 0, TAG, comm, &request), MPI_ERR_TYPE,
               1);
        expect(MPI_Bcast(in, 1, type, 0, comm), MPI_ERR_TYPE, 1);
    }
    MPI_Type_commit(&type);
    gpu_fill(in, BYTES, 3);
    CHECK(!MPI_Isend(in, 1, type, 0, TAG, comm, &request));
    CHECK(!MPI_Recv(in + 2000, 10, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_Type_free(&dense);
    gpu_delete(in);
}

/* Of completion calls: nothing is completed, and nothing of ours is written or
 * read by what they did not say. */
static void bad_completion(void)
{
    enum { FAR = 1 << 28 };
    char *in = gpu_new(BYTES, -1);
    int index = FAR, flag = FAR, indices[1];
    MPI_Request request, out;
    MPI_Status status;

    gpu_count_errors(MPI_COMM_WORLD);
    gpu_count_errors(MPI_COMM_SELF);
    MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, comm, &request);
    for (int turn = 0; turn < 2; turn++) {
        expect(MPI_Waitany(1, &request, NULL, &status), MPI_ERR_ARG, 1);
        expect(MPI_Testany(1, &request, NULL, &flag, &status), MPI_ERR_ARG, 1);
        expect(MPI_Waitany(1, &request, &index, NULL), MPI_ERR_ARG, 1);
        index = -FAR;
        expect(MPI_Testany(1, &request, &index, &flag, NULL), MPI_ERR_ARG, 1);
        index = FAR;
        expect(MPI_Testany(1, &request, &index, NULL, &status), MPI_ERR_ARG, 1);
        expect(MPI_Waitsome(1, &request, NULL, indices, &status), MPI_ERR_ARG,
               1);
        expect(MPI_Waitsome(1, &request, &flag, NULL, &status), MPI_ERR_ARG, 1);
        expect(MPI_Testsome(1, &request, NULL, indices, &status), MPI_ERR_ARG,
               1);
        expect(MPI_Testsome(1, &request, &flag, indices, NULL), MPI_ERR_ARG, 1);
        expect(MPI_Waitall(1, &request, NULL), MPI_ERR_ARG, 1);
        expect(MPI_Testall(1, &request, NULL, &status), MPI_ERR_ARG, 1);
        expect(MPI_Test(&request, NULL, &status), MPI_ERR_ARG, 1);
        expect(MPI_Wait(&request, NULL), MPI_ERR_ARG, 1);
        CHECK(request != MPI_REQUEST_NULL);
        if (turn == 0)
            send_to_self(BYTES, &out);
    }
    CHECK(!MPI_Wait(&request, &status) && gpu_bytes(&status) == BYTES);
    CHECK(gpu_holds(in, 0, BYTES, 1));
    MPI_Wait(&out, MPI_STATUS_IGNORE);
    tell_comm_only();
    gpu_delete(in);
}

static int window_errors;

static void on_window_error(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
    window_errors++;
}

static void windows(void)
{
    char *in = gpu_new(BYTES, -1);
    MPI_Errhandler handler;
    static char host[64];
    MPI_Win win;
    int one = 1, rc;

    rc = MPI_Win_create(in, BYTES, 1, MPI_INFO_NULL, comm, &win);
    expect(rc, MPI_ERR_UNSUPPORTED_OPERATION, 1);
    MPI_Win_create(host, sizeof(host), 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_create_errhandler(on_window_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Errhandler_free(&handler);
    MPI_Win_fence(0, win);
    rc = MPI_Put(in, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win);
    CHECK(gpu_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION);
    rc = MPI_Get(in, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win);
    CHECK(gpu_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION);
    rc = MPI_Accumulate(in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    CHECK(gpu_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION);
    rc = MPI_Get_accumulate(&one, 1, MPI_INT, in, 1, MPI_INT, 0, 0, 1, MPI_INT,
                            MPI_SUM, win);
    CHECK(gpu_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION);
    rc = MPI_Fetch_and_op(&one, in, MPI_INT, 0, 0, MPI_SUM, win);
    CHECK(gpu_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(window_errors == 5);
    MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memcmp(host, &one, sizeof(one)) == 0 && window_errors == 5);
    MPI_Win_free(&win);
    gpu_delete(in);
}

static void attached(void)
{
    char *in = gpu_new(1 << 16, -1);
    static char host[1 << 16];
    char *to = gpu_new(BYTES, -1);
    void *back;
    int size;

    gpu_count_errors(MPI_COMM_SELF);
    expect(MPI_Buffer_attach(in, 1 << 16), MPI_ERR_BUFFER, 1);
    tell_comm_only();
    MPI_Buffer_attach(host, sizeof(host));
    gpu_fill(in, BYTES, 9);
    MPI_Bsend(in, BYTES, MPI_BYTE, 0, TAG, comm);
    gpu_fill(in, BYTES, 10);
    MPI_Recv(to, BYTES, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE);
    CHECK(gpu_holds(to, 0, BYTES, 9));
    MPI_Buffer_detach(&back, &size);
    gpu_delete(in);
    gpu_delete(to);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    gpu_count_errors(comm);
    tell_all();
    truncated();
    persistent_truncated();
    ends_inside_an_element();
    tell_comm_only();
    freed();
    one_half_failed();
    context_gone();
    bad_arguments();
    bad_completion();
    uncommitted();
    windows();
    attached();
    MPI_Comm_free(&comm);
    gpu_end("errors");
    return 0;
}
