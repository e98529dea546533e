/*
 * Cases of survive.c in which the dead and the living have never met: nothing
 * went over the wire between them.
 */
#include "tests/enq/survive.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

static void tell_others(void)
{
    for (int i = 1; i < enq.size; i++)
        enq_tell(i);
}

/* From any source, when nobody is left. */
void d9_silent_receive(const struct enq_lane *lane)
{
    struct enq_buffer b;
    MPI_Request request;
    int word = 0;

    if (enq.rank != 0) {
        enq_hear(0);
        die();
    }
    tell_others();
    enq_buffer_open(&b, ENQ_SMALL);
    ENQ_OK(
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, lane->comm, &request));
    enq_recv(lane, &b, MPI_ANY_SOURCE, 2, MPI_STATUS_IGNORE);
    CHECK(enq_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    expect_failed_once(lane);
    later_calls_fail(lane);
}

void d9_silent_probe(const struct enq_lane *lane)
{
    if (enq.rank != 0) {
        enq_hear(0);
        die();
    }
    tell_others();
    CHECK(enq_class(MPI_Probe(MPI_ANY_SOURCE, 1, lane->comm,
                              MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    later_calls_fail(lane);
}

/* Rank `to` knows when the process is gone. */
static void die_told(int to)
{
    int pid = (int)getpid();

    MPI_Ssend(&pid, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    die();
}

static void await_death(void)
{
    int pid;

    MPI_Recv(&pid, 1, MPI_INT, DEAD, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (kill(pid, 0) == 0)
        sched_yield();
}

/* From a rank, on another host with --split. */
void d9_silent_source(const struct enq_lane *lane)
{
    struct enq_buffer b;

    if (enq.rank == DEAD) {
        enq_hear(1);
        die();
    } else if (enq.rank == 1) {
        enq_buffer_open(&b, ENQ_SMALL);
        enq_recv(lane, &b, DEAD, TAG_DEAD, MPI_STATUS_IGNORE);
        CHECK(enq_class(MPIX_Stream_synchronize(lane->stream, 0.5)) ==
              MPI_ERR_PENDING);
        enq_tell(DEAD);
        expect_failed_once(lane);
    }
    living_go_on(lane);
}

/* It has ended before the receive is called. */
void d9_silent_source_gone(const struct enq_lane *lane)
{
    struct enq_buffer b;

    if (enq.rank == DEAD)
        die_told(1);
    if (enq.rank == 1) {
        await_death();
        enq_buffer_open(&b, ENQ_SMALL);
        enq_recv(lane, &b, DEAD, TAG_DEAD, MPI_STATUS_IGNORE);
        expect_failed_once(lane);
    }
    living_go_on(lane);
}
