/* Two processes and a socket; see ring_pair.h. */
#include "tests/soft/ring_pair.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/mem/import.h"
#include "tests/soft/stage_place.h"

struct mgds_context *ring_context[2];
static int other; /* the socket to it */

void ring_send(const void *data, size_t bytes)
{
    assert_true(send(other, data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
}

void ring_receive(void *data, size_t bytes)
{
    assert_true(recv(other, data, bytes, MSG_WAITALL) == (ssize_t)bytes);
}

void ring_meet(void)
{
    char c = 0;

    ring_send(&c, 1);
    ring_receive(&c, 1);
}

void ring_await_end(void)
{
    char c;

    assert_true(recv(other, &c, 1, 0) == 0);
}

static int start(void **state)
{
    if (soft_cuda_load())
        return 1;
    stage_start(state);
    for (int i = 0; i < 2; i++)
        ring_context[i] = ring_context_of(stage_primary[i]);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    mgds_imports_fini();
    mgds_exports_fini();
    mgds_defer_drain();
    for (int i = 0; i < 2; i++) {
        mgds_context_put(ring_context[i]);
        ring_context[i] = NULL; /* whose reference is left over is a leak */
    }
    mgds_context_fini();
    return 0;
}

/* A group of tests of one: it says by itself what fails. */
static void play(const struct ring_part *part)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup_teardown(part->run, start, finish)};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("MPIX_SIM_HOST", part->host, 1);
    exit(cmocka_run_group_tests(test, NULL, NULL));
}

static pid_t begin(const struct ring_part *part, int ends[2], int mine)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[!mine]);
        other = ends[mine];
        play(part);
    }
    return pid;
}

void ring_pair_run(const struct ring_part *owner,
                   const struct ring_part *viewer)
{
    int ends[2], status[2];
    pid_t pid[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
                     0);
    pid[0] = begin(owner, ends, 0);
    pid[1] = begin(viewer, ends, 1);
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(pid[i], &status[i], 0), pid[i]);
    assert_int_equal(status[0], 0);
    assert_int_equal(status[1], 0);
}

static char *third_at(char *addr, uint32_t third)
{
    return addr + (size_t)third * RING_UNITS * sizeof(struct mgds_unit);
}

char *ring_third_of(const struct mgds_ring *ring, uint32_t third)
{
    return third_at((char *)(uintptr_t)mgds_ring_address(ring), third);
}

char *ring_third_seen(const struct mgds_ring_view *view, uint32_t third)
{
    return third_at(mgds_ring_view_address(view), third);
}

struct mgds_ring *ring_make_and_tell(struct mgds_context *ctx)
{
    struct mgds_ring *ring = NULL;
    struct mgds_ring_handle handle;

    assert_int_equal(mgds_ring_create(&ring, ctx, RING_ALL), 0);
    OK(cu.cuMemsetD8_v2(mgds_ring_address(ring), 0,
                        RING_ALL * sizeof(struct mgds_unit)));
    OK(cu.cuStreamSynchronize(NULL));
    mgds_ring_tell(ring, &handle);
    ring_send(&handle, sizeof(handle));
    return ring;
}

struct mgds_ring_handle ring_heard(void)
{
    struct mgds_ring_handle handle;

    ring_receive(&handle, sizeof(handle));
    return handle;
}

struct mgds_ring_view *ring_view(struct mgds_context *ctx,
                                 const struct mgds_ring_handle *handle)
{
    struct mgds_ring_view *view = NULL;

    assert_int_equal(mgds_ring_view_create(&view, ctx, handle, false), 0);
    assert_non_null(view);
    return view;
}
