/*
 * What stands in traces (test_trace.py reads them): a known exchange between
 * two ranks; another one, whose ranks then wait until they are killed; and
 * those of ranks that end the job themselves.
 */
#include "tests/enq/enq.h"

#include <stdio.h>
#include <time.h>

enum { SHORT = 512, LONG = 100000, TAG = 7 };

static struct enq_lane lane;
static struct enq_buffer small, large;

static void send_both(void)
{
    MPI_Request request;

    enq_fill(&small, 1);
    enq_fill(&large, 2);
    enq_send(&lane, &small, 1, TAG);
    enq_isend(&lane, &large, 1, TAG + 1, &request);
    enq_wait(&request, MPI_STATUS_IGNORE);
}

static void receive_both(void)
{
    MPI_Request request;

    enq_recv(&lane, &small, MPI_ANY_SOURCE, TAG, MPI_STATUS_IGNORE);
    enq_irecv(&lane, &large, 0, TAG + 1, &request);
    enq_wait(&request, MPI_STATUS_IGNORE);
    enq_sync(&lane);
    enq_expect(&small, SHORT, 1);
    enq_expect(&large, LONG, 2);
}

static void run_exchange(void)
{
    if (enq.rank == 0)
        send_both();
    else
        receive_both();
    ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
}

static void open_all(void)
{
    enq_lane_open(&lane);
    enq_buffer_open(&small, SHORT);
    enq_buffer_open(&large, LONG);
}

/* Messages of this rank, whichever way: one that comes late on a slow machine
 * is staged. */
static int64_t counted(const char *size)
{
    static const char *const ways[] = {"p2p", "host"};
    char name[32];
    int64_t sum = 0;

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "%s_%s_%s",
                 enq.rank == 0 ? "send" : "recv", ways[i], size);
        sum += enq_counter(name);
    }
    return sum;
}

/* The end of a send is known when its receiver has said that it has it. Every
 * call of the loop stands in the trace: without a pause those of a second would
 * fill the thread's ring, and events behind them were lost. */
static void await_count(const char *size)
{
    static const struct timespec pause = {.tv_nsec = 10000000};

    while (counted(size) == 0) {
        ENQ_OK(MPIX_Stream_progress(lane.stream));
        nanosleep(&pause, NULL);
    }
    CHECK(counted(size) == 1);
}

static void exchange(void)
{
    open_all();
    run_exchange();
    await_count("1k");
    await_count("1m");
    enq_buffer_close(&large);
    enq_buffer_close(&small);
    enq_lane_close(&lane);
}

static void stay(void)
{
    int nothing;

    open_all();
    run_exchange();
    MPI_Recv(&nothing, 1, MPI_INT, enq.rank, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void give_up(void)
{
    if (enq.rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fatal(void)
{
    enq_lane_open(&lane);
    enq_buffer_open(&small, SHORT);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_ARE_FATAL));
    if (enq.rank == 1)
        enq_send(&lane, &small, 17, TAG);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"exchange", 2, exchange},
        {"stay", 2, stay},
        {"give_up", 2, give_up},
        {"fatal", 2, fatal},
        {0},
    };

    return argc < 2 ? 2 : enq_main(argc, argv, "enq trace", cases);
}
