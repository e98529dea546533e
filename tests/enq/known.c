/*
 * Defects that are known, each as a case named after its letter: it says in a
 * line what goes wrong, and ends the job. The rows of the list hold it to that
 * line; when a case passes, its row's mark goes. A run is of one case.
 */
#include "tests/enq/enq.h"

#include <stdarg.h>
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

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"d5_comms", 2, d5_comms},
        {"d5_multi", 2, d5_multi},
        {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name one case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq known", cases);
}
