/*
 * Cases of survive.c in which a process is stopped for longer than
 * MPIX_GDS_TIMEOUT, and goes on.
 */
#include "tests/enq/survive.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE = 9, BYTES = 128 << 20, LOOK = 16 };

static pid_t name_of_dead(void)
{
    pid_t pid = getpid();

    if (enq.rank == DEAD)
        ENQ_OK(
            MPI_Ssend(&pid, (int)sizeof(pid), MPI_BYTE, 0, 1, MPI_COMM_WORLD));
    else if (enq.rank == 0)
        ENQ_OK(MPI_Recv(&pid, (int)sizeof(pid), MPI_BYTE, DEAD, 1,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return pid;
}

static void await_stopped(pid_t pid)
{
    while (!is_stopped(pid))
        continue;
}

/* The first bytes are not those of before any more. */
static void await_first_part(const struct enq_buffer *b,
                             const unsigned char *before)
{
    unsigned char bytes[LOOK];

    do
        enq_read(b, bytes, LOOK);
    while (memcmp(before, bytes, LOOK) == 0);
}

/* Its own time went on meanwhile. */
static void expect_failed_late(const struct enq_lane *lane)
{
    double end = MPI_Wtime() + 6 * SECONDS;
    int code = MPI_SUCCESS, rc;

    do
        rc = enq_class(MPIX_Stream_synchronize(lane->stream, 6 * SECONDS));
    while (rc == MPI_SUCCESS && MPI_Wtime() < end);
    CHECK(rc == MPI_ERR_OTHER);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(enq_class(code) == MPI_ERR_OTHER);
}

/* In the middle of a message in parts, of which rank 0 has seen some in its
 * buffer. Who goes on afterwards hears that nobody receives its
 * message, or that it was taken for dead. */
void d9_stopped_in_parts(const struct enq_lane *lane)
{
    pid_t pid = name_of_dead();
    unsigned char before[LOOK];
    struct enq_buffer b;

    enq_buffer_open(&b, BYTES);
    if (enq.rank == DEAD) {
        enq_fill(&b, MESSAGE);
        enq_send(lane, &b, 0, TAG_DEAD);
        expect_failed_late(lane);
        enq_hear(0);
    } else if (enq.rank == 0) {
        enq_fill(&b, MESSAGE + 1);
        enq_read(&b, before, LOOK);
        enq_recv(lane, &b, DEAD, TAG_DEAD, MPI_STATUS_IGNORE);
        await_first_part(&b, before);
        kill(pid, SIGSTOP);
        await_stopped(pid);
        expect_failed_once(lane);
        CHECK(is_stopped(pid));
    }
    if (enq.rank < DEAD)
        living_go_on(lane);
    if (enq.rank == 0) {
        kill(pid, SIGCONT);
        enq_tell(DEAD);
    }
    if (enq.rank < DEAD)
        living_go_on(lane);
}

/* It writes, when it goes on, to those that have given it up. */
static void go_on_writing(const struct enq_lane *lane)
{
    int word = 0;

    for (int i = 0; i < 100; i++)
        (void)MPI_Send(&word, 1, MPI_INT, 0, TAG_DEAD, lane->comm);
}

void d9_given_up_goes_on(const struct enq_lane *lane)
{
    pid_t pid = name_of_dead();
    struct enq_buffer b;

    enq_buffer_open_kind(&b, ENQ_LARGE, MGDS_TEST_HOST);
    if (enq.rank == DEAD) {
        kill(pid, SIGSTOP);
        go_on_writing(lane);
        enq_hear(0);
        go_on_writing(lane);
    } else if (enq.rank == 0) {
        await_stopped(pid);
        enq_send(lane, &b, DEAD, TAG_DEAD);
        expect_failed_once(lane);
        kill(pid, SIGCONT);
        enq_tell(DEAD);
    }
    for (int lap = 0; lap < 5 && enq.rank < DEAD; lap++)
        living_go_on(lane);
}
