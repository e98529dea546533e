/*
 * MPI_Comm_disconnect waits for what is under way on the communicator: requests
 * that were freed, and enqueued operations that no request names. After it the
 * sender may change the buffer, and the receiver finds the message in its own.
 */
#include <mpix_gds.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 1 << 20, OLD = 5, NEW = 9, TAG = 1, CHANGED = 2, LAPS = 2000 };

static MPIX_Stream stream;
static CUstream native;
static char *host, *gpu;

static MPI_Comm ordinary(void)
{
    MPI_Comm comm;

    CHECK(!MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    return comm;
}

static MPI_Comm with_stream(void)
{
    MPI_Comm comm;

    CHECK(!MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm));
    return comm;
}

/* The sender's halves, of which nobody waits for the end. */

static void send_from_host(MPI_Comm comm)
{
    MPI_Request request;

    memset(host, OLD, BYTES);
    CHECK(!MPI_Isend(host, BYTES, MPI_BYTE, 1, TAG, comm, &request));
    CHECK(!MPI_Request_free(&request));
}

static void send_from_gpu(MPI_Comm comm)
{
    MPI_Request request;

    gpu_fill(gpu, BYTES, OLD);
    CHECK(!MPI_Isend(gpu, BYTES, MPI_BYTE, 1, TAG, comm, &request));
    CHECK(!MPI_Request_free(&request));
}

static void send_enqueued(MPI_Comm comm)
{
    gpu_fill(gpu, BYTES, OLD);
    CHECK(!MPIX_Send_enqueue(gpu, BYTES, MPI_BYTE, 1, TAG, comm));
}

static void send_enqueued_freed(MPI_Comm comm)
{
    MPI_Request request;

    gpu_fill(gpu, BYTES, OLD);
    CHECK(!MPIX_Isend_enqueue(gpu, BYTES, MPI_BYTE, 1, TAG, comm, &request));
    CHECK(!MPI_Request_free(&request));
}

/* The receiver's. */

static void recv_on_host(MPI_Comm comm)
{
    CHECK(!MPI_Recv(host, BYTES, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
}

static void recv_on_gpu(MPI_Comm comm)
{
    CHECK(!MPI_Recv(gpu, BYTES, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
}

static void recv_freed(MPI_Comm comm)
{
    MPI_Request request;

    CHECK(!MPI_Irecv(gpu, BYTES, MPI_BYTE, 0, TAG, comm, &request));
    CHECK(!MPI_Request_free(&request));
}

static void recv_enqueued(MPI_Comm comm)
{
    CHECK(!MPIX_Recv_enqueue(gpu, BYTES, MPI_BYTE, 0, TAG, comm,
                             MPI_STATUS_IGNORE));
}

static const struct disconnect {
    const char *name;
    MPI_Comm (*create)(void);
    void (*send)(MPI_Comm);
    void (*receive)(MPI_Comm);
    bool from_host, to_host;
} cases[] = {
    {"host, freed", with_stream, send_from_host, recv_on_host, true, true},
    {"GPU, freed", with_stream, send_from_gpu, recv_on_gpu, false, false},
    {"enqueued", with_stream, send_enqueued, recv_on_gpu, false, false},
    {"enqueued, freed", with_stream, send_enqueued_freed, recv_enqueued, false,
     false},
    {"to freed", with_stream, send_from_host, recv_freed, true, false},
    {"to enqueued", with_stream, send_enqueued, recv_enqueued, false, false},
    {"staged", ordinary, send_from_gpu, recv_on_gpu, false, false},
    {"staged to freed", ordinary, send_from_gpu, recv_freed, false, false},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void send(const struct disconnect *test)
{
    MPI_Comm comm = test->create();

    test->send(comm);
    CHECK(!MPI_Comm_disconnect(&comm) && comm == MPI_COMM_NULL);
    if (test->from_host)
        memset(host, NEW, BYTES);
    else
        gpu_fill(gpu, BYTES, NEW);
    CHECK(!MPI_Send(NULL, 0, MPI_BYTE, 1, CHANGED, MPI_COMM_WORLD));
}

/* A sender that does not wait has changed the buffer before we look. */
static void be_late(void)
{
    int changed = 0;

    for (int i = 0; i < LAPS && !changed; i++)
        MPI_Iprobe(0, CHANGED, MPI_COMM_WORLD, &changed, MPI_STATUS_IGNORE);
}

static bool host_holds(void)
{
    for (int i = 0; i < BYTES; i++)
        if (host[i] != OLD)
            return false;
    return true;
}

static bool gpu_holds_all(const struct disconnect *test)
{
    unsigned char first;

    if (!test->from_host)
        return gpu_holds(gpu, 0, BYTES, OLD);
    gpu_read(&first, gpu + BYTES - 1, 1);
    return first == OLD;
}

static void receive(const struct disconnect *test)
{
    MPI_Comm comm = test->create();

    memset(host, 0, BYTES);
    gpu_fill(gpu, BYTES, -1);
    be_late();
    test->receive(comm);
    CHECK(!MPI_Comm_disconnect(&comm) && comm == MPI_COMM_NULL);
    CHECK(test->to_host ? host_holds() : gpu_holds_all(test));
    CHECK(!MPI_Recv(NULL, 0, MPI_BYTE, 0, CHANGED, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
}

static void open_stream(void)
{
    MPI_Info info;

    MGDS_CU(cuStreamCreate(&native, 1));
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    CHECK(!MPIX_Info_set_hex(info, "value", &native, (int)sizeof(CUstream)));
    CHECK(!MPIX_Stream_create(info, &stream));
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    CHECK(gpu_size == 2);
    open_stream();
    host = malloc(BYTES);
    CHECK(host);
    gpu = gpu_new(BYTES, -1);
    for (int i = 0; i < CASES; i++) {
        if (gpu_rank == 0)
            printf("%s\n", cases[i].name);
        fflush(stdout);
        if (gpu_rank == 0)
            send(&cases[i]);
        else
            receive(&cases[i]);
    }
    gpu_delete(gpu);
    free(host);
    CHECK(!MPIX_Stream_free(&stream));
    gpu_end("d12_disconnect");
    return 0;
}
