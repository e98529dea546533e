/*
 * docs/mpi-coverage.md is true of GPU memory: the tables it is printed from say
 * what a call with a GPU buffer does, and here is what it does. Each row that
 * refuses GPU memory has its call below, and so has one of each family that
 * takes it; messages go to this rank itself.
 */
#include <mpix_gds.h>
#include <string.h>

#include "shim/pmpi/calls.h"
#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 4096, INTS = BYTES / 4, TAG = 3 };

enum kind { HERE, BUFFERS, ABSENT };

static const struct {
    const char *name;
    enum kind kind;
} mpix_rows[] = {
#define MGDS_MPIX(name, n, kind) {"MPIX_" #name, kind},
#include "shim/pmpi/mpix_table.def"
#undef MGDS_MPIX
};

enum { MPIX_ROWS = sizeof(mpix_rows) / sizeof(mpix_rows[0]) };

static MPI_Comm comm, stream_comm;
static MPIX_Stream stream;
static MPI_Win window, dynamic;
static char *out, *in; /* GPU memory: out holds a filling, in another */
static int host[INTS], result[INTS];

static int received(int rc)
{
    if (rc == MPI_SUCCESS)
        CHECK(gpu_holds(in, 0, BYTES, 1));
    return rc;
}

/* Every function that takes GPU memory is in one of these, by family. */

static int sendrecv(void)
{
    return received(MPI_Sendrecv(out, BYTES, MPI_BYTE, 0, TAG, in, BYTES,
                                 MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
}

static int partitioned(void)
{
    MPI_Request requests[2];
    int rc = MPI_Psend_init(out, 2, BYTES / 2, MPI_BYTE, 0, TAG, comm,
                            MPI_INFO_NULL, &requests[0]);

    CHECK(!MPI_Precv_init(in, 2, BYTES / 2, MPI_BYTE, 0, TAG, comm,
                          MPI_INFO_NULL, &requests[1]));
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 1, requests[0]);
    MPI_Waitall(2, requests, gpu_ignored());
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&requests[i]);
    return received(rc);
}

static int waitall(void)
{
    MPI_Request requests[2];

    MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, comm, &requests[0]);
    MPI_Isend(out, BYTES, MPI_BYTE, 0, TAG, comm, &requests[1]);
    return received(MPI_Waitall(2, requests, gpu_ignored()));
}

static int allreduce(void)
{
    return received(MPI_Allreduce(out, in, INTS, MPI_INT, MPI_BOR, comm));
}

/* Refused, one call each. */

static int buffer_attach(void)
{
    return MPI_Buffer_attach(out, BYTES);
}

static int buffer_attach_c(void)
{
    return MPI_Buffer_attach_c(out, BYTES);
}

#define TRANSFER(name, call, ...)                                              \
    static int name(void)                                                      \
    {                                                                          \
        MPI_Request request = MPI_REQUEST_NULL;                                \
        int rc = call(out, INTS, MPI_INT, 0, 0, INTS, MPI_INT, __VA_ARGS__);   \
                                                                               \
        CHECK(request == MPI_REQUEST_NULL);                                    \
        return rc;                                                             \
    }

TRANSFER(put, MPI_Put, window)
TRANSFER(put_c, MPI_Put_c, window)
TRANSFER(get, MPI_Get, window)
TRANSFER(get_c, MPI_Get_c, window)
TRANSFER(rput, MPI_Rput, window, &request)
TRANSFER(rput_c, MPI_Rput_c, window, &request)
TRANSFER(rget, MPI_Rget, window, &request)
TRANSFER(rget_c, MPI_Rget_c, window, &request)
TRANSFER(accumulate, MPI_Accumulate, MPI_SUM, window)
TRANSFER(accumulate_c, MPI_Accumulate_c, MPI_SUM, window)
TRANSFER(raccumulate, MPI_Raccumulate, MPI_SUM, window, &request)
TRANSFER(raccumulate_c, MPI_Raccumulate_c, MPI_SUM, window, &request)

/* Either of two buffers is enough. */
#define TWO_BUFFERS(name, call, ...)                                           \
    static int name(void)                                                      \
    {                                                                          \
        MPI_Request request = MPI_REQUEST_NULL;                                \
        int rc = call(host, INTS, MPI_INT, in, INTS, MPI_INT, 0, 0, INTS,      \
                      MPI_INT, MPI_SUM, __VA_ARGS__);                          \
                                                                               \
        CHECK(rc == MPI_SUCCESS ||                                             \
              gpu_class(call(out, INTS, MPI_INT, result, INTS, MPI_INT, 0, 0,  \
                             INTS, MPI_INT, MPI_SUM, __VA_ARGS__)) ==          \
                  gpu_class(rc));                                              \
        CHECK(request == MPI_REQUEST_NULL);                                    \
        return rc;                                                             \
    }

TWO_BUFFERS(get_accumulate, MPI_Get_accumulate, window)
TWO_BUFFERS(get_accumulate_c, MPI_Get_accumulate_c, window)
TWO_BUFFERS(rget_accumulate, MPI_Rget_accumulate, window, &request)
TWO_BUFFERS(rget_accumulate_c, MPI_Rget_accumulate_c, window, &request)

static int fetch_and_op(void)
{
    return MPI_Fetch_and_op(host, in, MPI_INT, 0, 0, MPI_SUM, window);
}

static int compare_and_swap(void)
{
    return MPI_Compare_and_swap(host, out, result, MPI_INT, 0, 0, window);
}

static int win_attach(void)
{
    return MPI_Win_attach(dynamic, out, BYTES);
}

static int win_create(void)
{
    MPI_Win win;

    return MPI_Win_create(out, BYTES, 1, MPI_INFO_NULL, comm, &win);
}

static int win_create_c(void)
{
    MPI_Win win;

    return MPI_Win_create_c(out, BYTES, 1, MPI_INFO_NULL, comm, &win);
}

/* MPIX: one pair in the order of the stream, one that is not, what is absent.
 */

static int isend_enqueue(void)
{
    MPI_Request requests[2];
    int rc = MPIX_Isend_enqueue(out, BYTES, MPI_BYTE, 0, TAG, stream_comm,
                                &requests[0]);

    CHECK(!MPIX_Irecv_enqueue(in, BYTES, MPI_BYTE, 0, TAG, stream_comm,
                              &requests[1]));
    CHECK(!MPIX_Waitall_enqueue(2, requests, gpu_ignored()));
    CHECK(!MPIX_Stream_synchronize(stream, 60));
    return received(rc);
}

static int stream_isend(void)
{
    MPI_Request requests[2];
    int rc = MPIX_Stream_isend(out, BYTES, MPI_BYTE, 0, TAG, stream_comm, 0, 0,
                               &requests[0]);

    CHECK(!MPIX_Stream_irecv(in, BYTES, MPI_BYTE, 0, TAG, stream_comm, 0, 0,
                             &requests[1]));
    MPI_Waitall(2, requests, gpu_ignored());
    return received(rc);
}

static int allreduce_enqueue(void)
{
    return MPIX_Allreduce_enqueue(out, in, INTS, MPI_INT, MPI_SUM, stream_comm);
}

static int allreduce_enqueue_c(void)
{
    return MPIX_Allreduce_enqueue_c(out, in, INTS, MPI_INT, MPI_SUM,
                                    stream_comm);
}

static const struct coverage_case {
    const char *name;
    int (*call)(void); /* with a GPU buffer; what it returns */
} cases[] = {
    {"MPI_Sendrecv", sendrecv},
    {"MPI_Psend_init", partitioned},
    {"MPI_Waitall", waitall},
    {"MPI_Allreduce", allreduce},
    {"MPI_Buffer_attach", buffer_attach},
    {"MPI_Buffer_attach_c", buffer_attach_c},
    {"MPI_Put", put},
    {"MPI_Put_c", put_c},
    {"MPI_Get", get},
    {"MPI_Get_c", get_c},
    {"MPI_Rput", rput},
    {"MPI_Rput_c", rput_c},
    {"MPI_Rget", rget},
    {"MPI_Rget_c", rget_c},
    {"MPI_Accumulate", accumulate},
    {"MPI_Accumulate_c", accumulate_c},
    {"MPI_Raccumulate", raccumulate},
    {"MPI_Raccumulate_c", raccumulate_c},
    {"MPI_Get_accumulate", get_accumulate},
    {"MPI_Get_accumulate_c", get_accumulate_c},
    {"MPI_Rget_accumulate", rget_accumulate},
    {"MPI_Rget_accumulate_c", rget_accumulate_c},
    {"MPI_Fetch_and_op", fetch_and_op},
    {"MPI_Compare_and_swap", compare_and_swap},
    {"MPI_Win_attach", win_attach},
    {"MPI_Win_create", win_create},
    {"MPI_Win_create_c", win_create_c},
    {"MPIX_Isend_enqueue", isend_enqueue},
    {"MPIX_Stream_isend", stream_isend},
    {"MPIX_Allreduce_enqueue", allreduce_enqueue},
    {"MPIX_Allreduce_enqueue_c", allreduce_enqueue_c},
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static const struct coverage_case *case_of(const char *name)
{
    for (int i = 0; i < CASES; i++) {
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    }
    return NULL;
}

/* Makes the call and holds the class of what it returns against the row's. */
static void hold(const struct coverage_case *one, int refused)
{
    int class;

    gpu_fill(in, BYTES, -1);
    class = gpu_class(one->call());
    if (class != refused)
        fprintf(stderr, "%s with a GPU buffer: class %d, the table says %d\n",
                one->name, class, refused);
    CHECK(class == refused);
}

/* What the MPI below would write to by itself is a bad buffer; all other GPU
 * memory is not there yet. */
static int class_of(const struct mgds_call_row *row)
{
    if (row->mode == MGDS_MODE_GPU)
        return MPI_SUCCESS;
    return row->family == MGDS_FAMILY_P2P ? MPI_ERR_BUFFER
                                          : MPI_ERR_UNSUPPORTED_OPERATION;
}

static void mpi_rows_hold(void)
{
    int taken[MGDS_FAMILIES] = {0}, held[MGDS_FAMILIES] = {0};

    for (unsigned call = 0; call < MGDS_CALLS; call++) {
        const struct mgds_call_row *row = &mgds_call_rows[call];
        const struct coverage_case *one = case_of(row->name);

        if (row->mode == MGDS_MODE_REFUSE && !one)
            fprintf(stderr, "%s: no case here\n", row->name);
        CHECK(row->mode != MGDS_MODE_REFUSE || one);
        taken[row->family] += row->mode == MGDS_MODE_GPU;
        held[row->family] += row->mode == MGDS_MODE_GPU && one;
        if (!one)
            continue;
        CHECK(row->mode == MGDS_MODE_GPU || row->mode == MGDS_MODE_REFUSE);
        hold(one, class_of(row));
    }
    for (int family = 0; family < MGDS_FAMILIES; family++)
        CHECK(!taken[family] || held[family]);
}

static void mpix_rows_hold(void)
{
    int taken = 0;

    for (int i = 0; i < MPIX_ROWS; i++) {
        const struct coverage_case *one = case_of(mpix_rows[i].name);

        CHECK(mpix_rows[i].kind != ABSENT || one);
        taken += mpix_rows[i].kind == BUFFERS && one;
        if (one)
            hold(one, mpix_rows[i].kind == ABSENT
                          ? MPI_ERR_UNSUPPORTED_OPERATION
                          : MPI_SUCCESS);
    }
    CHECK(taken == 2);
}

static void stream_open(CUstream *native)
{
    MPI_Info info;

    MGDS_CU(cuStreamCreate(native, CU_STREAM_NON_BLOCKING));
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    CHECK(!MPIX_Info_set_hex(info, "value", native, sizeof(void *)));
    CHECK(!MPIX_Stream_create(info, &stream));
    MPI_Info_free(&info);
    CHECK(!MPIX_Stream_comm_create_multiplex(comm, 1, &stream, &stream_comm));
}

static void windows_open(void)
{
    MPI_Win_create(host, sizeof(host), 1, MPI_INFO_NULL, comm, &window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &dynamic);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, window);
}

static void windows_close(void)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Win_free(&dynamic);
}

int main(int argc, char **argv)
{
    CUstream native;

    gpu_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    out = gpu_new(BYTES, 1);
    in = gpu_new(BYTES, -1);
    windows_open();
    stream_open(&native);
    mpi_rows_hold();
    mpix_rows_hold();
    MPI_Comm_free(&stream_comm);
    MPIX_Stream_free(&stream);
    MGDS_CU(cuStreamDestroy(native));
    windows_close();
    gpu_delete(in);
    gpu_delete(out);
    MPI_Comm_free(&comm);
    gpu_end("coverage");
    return 0;
}
