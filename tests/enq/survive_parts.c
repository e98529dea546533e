/*
 * A case of survive.c: a process is stopped in the middle of a message that
 * comes in parts, by rank 0, which sees in its buffer that some have come.
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
    int code = MPI_SUCCESS, rc;

    do
        rc = enq_class(MPIX_Stream_synchronize(lane->stream, 10 * SECONDS));
    while (rc == MPI_SUCCESS);
    CHECK(rc == MPI_ERR_OTHER);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(enq_class(code) == MPI_ERR_OTHER);
}

/* Rank 0 alone is kept. Who goes on afterwards hears that nobody receives its
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
        while (!is_stopped(pid))
            continue;
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
