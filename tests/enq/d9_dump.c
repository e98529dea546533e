/* What stands, named on demand: D9. See d9_watch.h. */
#include "tests/enq/d9_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handler(int sig)
{
    (void)sig;
    handled++;
}

void handler_set(void)
{
    signal(SIGUSR2, handler);
}

/* Asked for by a signal until the line is there: the stream may not have said
 * yet that it stands. */
void dumped_by_signal(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    int raised = 0;

    open_named(&lane, &b, BYTES);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        while (
            count(
                "^mpix-gds\\[rank 1\\]: stream 0x[0-9a-f]+" SECONDS RECEIVE) ==
            0) {
            int seen = count("mpix-gds");

            CHECK(raise(SIGUSR2) == 0);
            CHECK(handled == ++raised);
            while (count("mpix-gds") == seen)
                sched_yield();
        }
        enq_tell(0);
    } else {
        enq_hear(1);
        enq_send(&lane, &b, 1, TAG);
    }
    CHECK(count("warn:") == 0);
    close_both(&lane, &b);
}

static void *receive_late(void *arg)
{
    struct enq_lane *lane = arg;
    char byte;

    ENQ_OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 9, lane->comm, MPI_STATUS_IGNORE));
    return NULL;
}

/* Both of them, until both are there. */
static void dump_until(struct enq_lane *lane, bool host)
{
    static char text[MUCH];
    int fd = memfd_create("dump", MFD_CLOEXEC);

    CHECK(fd >= 0);
    do {
        CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
        ENQ_OK(MPIX_Stream_dump(host ? MPIX_STREAM_NULL : lane->stream, fd));
        book_read(fd, text);
    } while (
        count_in(text,
                 "^mpix-gds\\[rank 1\\]: stream 0x[0-9a-f]+" SECONDS RECEIVE) !=
            1 ||
        count_in(text, "^mpix-gds\\[rank 1\\]: MPI_Recv" SECONDS
                       "receive from rank 0, tag 9, 1 bytes") != host);
    CHECK(count_in(text, "MPI_Recv") == host);
    close(fd);
}

void dumped_by_call(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    pthread_t thread;

    open_named(&lane, &b, BYTES);
    if (enq.rank == 1) {
        CHECK(pthread_create(&thread, NULL, receive_late, &lane) == 0);
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        dump_until(&lane, true);
        dump_until(&lane, false);
        CHECK(count("mpix-gds") == 0);
        enq_tell(0);
        CHECK(pthread_join(thread, NULL) == 0);
    } else {
        char byte = 0;

        enq_hear(1);
        ENQ_OK(MPI_Send(&byte, 1, MPI_BYTE, 1, 9, lane.comm));
        enq_send(&lane, &b, 1, TAG);
    }
    close_both(&lane, &b);
}

static void dump_is(MPIX_Stream stream, const char *pattern)
{
    static char text[MUCH];
    int fd = memfd_create("dump", MFD_CLOEXEC);

    CHECK(fd >= 0);
    ENQ_OK(MPIX_Stream_dump(stream, fd));
    book_read(fd, text);
    fputs(text, stdout);
    fflush(stdout);
    CHECK(count_in(text, pattern) == 1 && count_in(text, "mpix-gds") == 1);
    close(fd);
}

/* What is no wait, and what is no stream or descriptor. */
void dumps_of_nothing(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    struct enq_gate gate;
    MPIX_Stream freed, cpu;

    open_named(&lane, &b, BYTES);
    enq_errors_count(MPI_COMM_SELF);
    dump_is(MPIX_STREAM_NULL, "nothing stands$");
    dump_is(lane.stream, "nothing stands$");
    ENQ_OK(MPIX_Stream_create(MPI_INFO_NULL, &cpu));
    dump_is(cpu, "nothing stands$");
    freed = cpu;
    ENQ_OK(MPIX_Stream_free(&cpu));
    CHECK(enq_class(MPIX_Stream_dump(freed, 1)) == MPI_ERR_OTHER);
    CHECK(enq_class(MPIX_Stream_dump(lane.stream, -1)) == MPI_ERR_ARG);
    CHECK(enq_class(MPIX_Stream_dump(lane.stream, 1000)) == MPI_ERR_ARG);
    CHECK(enq_class(MPIX_Stream_dump(
              lane.stream, open("/dev/full", O_WRONLY | O_CLOEXEC))) ==
          MPI_ERR_IO);
    CHECK(enq_errors() == 4);
    enq_gate_make(&gate);
    enq_gate_hold(&gate, lane.cu);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        dump_is(lane.stream,
                "stream 0x[0-9a-f]+ has not come to [0-9]+ steps of "
                "ours, and stands at no wait: other work is ahead "
                "of them$");
    } else {
        enq_send(&lane, &b, 1, TAG);
    }
    enq_gate_open(&gate);
    close_both(&lane, &b);
    enq_gate_free(&gate);
}
