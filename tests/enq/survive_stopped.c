/*
 * Cases of survive.c in which a process is stopped: for a while, or for longer
 * than MPIX_GDS_TIMEOUT.
 */
#include "tests/enq/survive.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE = 9, BYTES = 128 << 20, LOOK = 16 };

/* Rank DEAD tells rank 0 how it is called. */
static pid_t name_dead(void)
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

static bool is_stopped(pid_t pid)
{
    char name[64], state = 0;
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
    file = fopen(name, "r");
    CHECK(file);
    CHECK(fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
    fclose(file);
    return state == 'T';
}

static void await_stopped(pid_t pid)
{
    while (!is_stopped(pid))
        continue;
}

/* D9: who is stopped and goes on later has not died. */
void d9_stopped(const struct enq_lane *lane)
{
    pid_t pid;
    struct enq_buffer b;

    enq_buffer_open(&b, ENQ_LARGE);
    if (enq.rank == DEAD) {
        enq_fill(&b, 5);
        kill(name_dead(), SIGSTOP);
        enq_send(lane, &b, 0, TAG_DEAD);
        expect_well(lane);
        enq_hear(0);
    } else if (enq.rank == 0) {
        enq_recv(lane, &b, DEAD, TAG_DEAD, MPI_STATUS_IGNORE);
        pid = name_dead();
        await_stopped(pid);
        CHECK(enq_class(MPIX_Stream_synchronize(lane->stream, 2)) ==
              MPI_ERR_PENDING);
        CHECK(is_stopped(pid));
        kill(pid, SIGCONT);
        expect_well(lane);
        enq_expect(&b, ENQ_LARGE, 5);
        enq_tell(DEAD);
    }
    if (enq.rank < DEAD)
        living_go_on(lane);
}

/* D9: who does not answer for as long as MPIX_GDS_TIMEOUT says is as good as
 * dead: nobody knows when it would read the buffer. */
void d9_taken_for_dead(const struct enq_lane *lane)
{
    pid_t pid = name_dead();
    struct enq_buffer b;

    enq_buffer_open_kind(&b, ENQ_LARGE, MGDS_TEST_HOST);
    if (enq.rank == DEAD) {
        kill(pid, SIGSTOP);
    } else if (enq.rank == 0) {
        await_stopped(pid);
        enq_send(lane, &b, DEAD, TAG_DEAD);
        expect_failed_once(lane);
        CHECK(is_stopped(pid));
    }
    go_on(lane);
    if (enq.rank == 0)
        kill(pid, SIGKILL);
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

/* In the middle of a message in parts, of which rank 0 has seen some in its
 * buffer. Who goes on afterwards hears that nobody receives its message, or
 * that it was taken for dead. */
void d9_stopped_in_parts(const struct enq_lane *lane)
{
    pid_t pid = name_dead();
    unsigned char before[LOOK];
    struct enq_buffer b;

    enq_buffer_open(&b, BYTES);
    if (enq.rank == DEAD) {
        enq_fill(&b, MESSAGE);
        enq_send(lane, &b, 0, TAG_DEAD);
        expect_failed_within(lane, 6 * SECONDS); /* some of it stopped */
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
    pid_t pid = name_dead();
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
