/*
 * Defects that are known, each as a case named after its letter: it says in a
 * line what goes wrong, and ends the job. The rows of the list hold it to that
 * line; when a case passes, its row's mark goes. A run is of one case.
 */
#include "tests/enq/enq.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* What the defect looks like, in one write; nobody else goes on. */
__attribute__((format(printf, 1, 2))) static void fails(const char *format, ...)
{
    char text[160];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "known defect: %s\n", text);
    _exit(1);
}

static void open_returning(struct enq_lane *lane)
{
    enq_lane_open(lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane->comm, MPI_ERRORS_RETURN));
}

/* Messages of a MiB that both ends of a window have, more than may be pinned.
 */
enum { WINDOW = 20 };

static unsigned char *host_memory(size_t bytes)
{
    unsigned char *memory = (unsigned char *)malloc(bytes);

    CHECK(memory);
    memset(memory, 0, bytes);
    return memory;
}

static size_t wrong_bytes(const unsigned char *got, size_t bytes,
                          unsigned message)
{
    size_t wrong = 0;

    for (size_t i = 0; i < bytes; i++)
        wrong += got[i] != enq_byte(message, i);
    return wrong;
}

/* The sender's memory is mapped by then. */
static void meet(const struct enq_lane *lane, struct enq_buffer *b)
{
    struct enq_buffer small;

    enq_buffer_open(&small, MIB);
    for (int i = 0; i < 2; i++) {
        if (enq.rank == 0)
            ENQ_OK(
                MPIX_Send_enqueue(b->at, (int)MIB, MPI_BYTE, 1, 0, lane->comm));
        else
            enq_recv(lane, &small, 0, 0, MPI_STATUS_IGNORE);
        enq_sync(lane);
    }
    enq_buffer_close(&small);
}

static void hostwin_send(const struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request requests[WINDOW];

    for (size_t i = 0; i < WINDOW; i++)
        ENQ_OK(MPIX_Isend_enqueue(b->at + i * MIB, (int)MIB, MPI_BYTE, 1, 1,
                                  lane->comm, &requests[i]));
    enq_waitall(WINDOW, requests);
}

static void hostwin_receive(const struct enq_lane *lane)
{
    unsigned char *got = host_memory(WINDOW * MIB);
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    int failed = 0, rc;

    for (size_t i = 0; i < WINDOW; i++)
        ENQ_OK(MPI_Irecv(got + i * MIB, (int)MIB, MPI_BYTE, 0, 1, lane->comm,
                         &requests[i]));
    enq_tell(0);
    rc = MPI_Waitall(WINDOW, requests, statuses);
    for (int i = 0; rc != MPI_SUCCESS && i < WINDOW; i++)
        failed += enq_class(statuses[i].MPI_ERROR) == MPI_ERR_NO_MEM;
    if (failed > 0)
        fails("D2: %d of %d receives found no memory", failed, WINDOW);
    CHECK(rc == MPI_SUCCESS);
    CHECK(wrong_bytes(got, WINDOW * MIB, 1) == 0);
    free(got);
}

/* A window of enqueued sends of GPU memory into receives of host memory that
 * were all posted before. */
static void d2_hostwin(void)
{
    struct enq_lane lane;
    struct enq_buffer b = {.bytes = 0};

    open_returning(&lane);
    if (enq.rank == 0)
        enq_buffer_open(&b, WINDOW * MIB);
    meet(&lane, &b);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_hear(1);
        hostwin_send(&lane, &b);
    } else {
        hostwin_receive(&lane);
    }
    enq_lane_close(&lane);
    if (enq.rank == 0)
        enq_buffer_close(&b);
}

static void hostpull_receive(const struct enq_lane *lane, size_t bytes)
{
    unsigned char *got = host_memory(bytes);
    int rc = MPI_Recv(got, (int)bytes, MPI_BYTE, 0, 1, lane->comm,
                      MPI_STATUS_IGNORE);

    if (rc != MPI_SUCCESS && enq_class(rc) == MPI_ERR_NO_MEM)
        fails("D2: a receive found no memory");
    CHECK(rc == MPI_SUCCESS);
    CHECK(wrong_bytes(got, bytes, 1) == 0);
    free(got);
}

/* One message, longer than what may be pinned. */
static void d2_hostpull(void)
{
    const size_t bytes = 8 * MIB;
    struct enq_lane lane;
    struct enq_buffer b = {.bytes = 0};

    open_returning(&lane);
    if (enq.rank == 0)
        enq_buffer_open(&b, bytes);
    meet(&lane, &b);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
    } else {
        hostpull_receive(&lane, bytes);
    }
    enq_lane_close(&lane);
    if (enq.rank == 0)
        enq_buffer_close(&b);
}

/* GPU memory that is in use, on this rank's GPU alone. */
static size_t used(void)
{
    size_t left = 0, total = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    MGDS_CU(cuMemGetInfo(&left, &total));
    MPI_Barrier(MPI_COMM_WORLD);
    return total - left;
}

enum { MANY = 4 };

/* A communicator after the other on one stream; all are freed. */
static void d5_comms(void)
{
    size_t before, after;
    struct enq_lane lane;
    MPI_Comm comms[MANY];

    before = used();
    enq_lane_open(&lane);
    for (int i = 0; i < MANY; i++)
        ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, lane.stream, &comms[i]));
    for (int i = 0; i < MANY; i++)
        ENQ_OK(MPI_Comm_free(&comms[i]));
    enq_lane_close(&lane);
    after = used();
    if (after > before + MIB)
        fails("D5: %zu MiB of GPU memory are not given back",
              (after - before) / MIB);
}

/* One communicator with so many streams: what it takes. */
static size_t multiplex(int count)
{
    size_t before = used(), during;
    MPIX_Stream streams[MANY];
    CUstream cu[MANY];
    MPI_Comm comm;

    for (int i = 0; i < count; i++) {
        MGDS_CU(cuStreamCreate(&cu[i], CU_STREAM_NON_BLOCKING));
        streams[i] = enq_stream_of(cu[i]);
    }
    ENQ_OK(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, count, streams,
                                             &comm));
    during = used();
    ENQ_OK(MPI_Comm_free(&comm));
    for (int i = 0; i < count; i++) {
        ENQ_OK(MPIX_Stream_free(&streams[i]));
        MGDS_CU(cuStreamDestroy(cu[i]));
    }
    return during - before;
}

static void d5_multi(void)
{
    size_t one = multiplex(1), many = multiplex(MANY);

    if (many > 2 * one + MIB)
        fails("D5: %d streams take %zu MiB of GPU memory, one takes %zu", MANY,
              many / MIB, one / MIB);
}

static void sendwin_send(const struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request requests[WINDOW];

    enq_fill(b, 1);
    for (size_t i = 0; i < WINDOW; i++) {
        int rc = MPIX_Isend_enqueue(b->at + i * MIB, (int)MIB, MPI_BYTE, 1, 1,
                                    lane->comm, &requests[i]);

        if (rc != MPI_SUCCESS)
            fails("D11: send %zu of %d failed", i + 1, WINDOW);
    }
    enq_tell(1);
    enq_waitall(WINDOW, requests);
}

static void sendwin_receive(const struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request requests[WINDOW];

    enq_hear(0);
    for (size_t i = 0; i < WINDOW; i++)
        ENQ_OK(MPIX_Irecv_enqueue(b->at + i * MIB, (int)MIB, MPI_BYTE, 0, 1,
                                  lane->comm, &requests[i]));
    enq_waitall(WINDOW, requests);
    enq_sync(lane);
    enq_expect(b, WINDOW * MIB, 1);
}

/* On two hosts: more sends than may be staged, whose receives are called when
 * all of them were. */
static void d11_sendwin(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    open_returning(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    enq_buffer_open(&b, WINDOW * MIB);
    if (enq.rank == 0)
        sendwin_send(&lane, &b);
    else
        sendwin_receive(&lane, &b);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"d2_hostwin", 2, d2_hostwin},   {"d2_hostpull", 2, d2_hostpull},
        {"d5_comms", 2, d5_comms},       {"d5_multi", 2, d5_multi},
        {"d11_sendwin", 2, d11_sendwin}, {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name one case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq known", cases);
}
