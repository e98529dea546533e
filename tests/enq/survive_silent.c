/*
 * Cases of survive.c in which the dead and the living have never met: nothing
 * went over the wire between them.
 */
#include "tests/enq/survive.h"

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
