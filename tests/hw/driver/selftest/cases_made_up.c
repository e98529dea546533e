/* Cases with a known end, in place of the list: what the harness must make
 * of them is in test_harness.py. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "../case.h"
#include "../clock.h"

static void passes(void)
{
    EXPECT_EQ(1, 1);
    OK(CUDA_SUCCESS);
    mgds_case_note("a fact");
}

static void fails_an_expectation_and_goes_on(void)
{
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS);
    EXPECT(1 == 2);
}

static void aborts(void)
{
    OK(CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(3, 4);
}

static void dies_of_a_signal(void)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void leaves_by_exit(void)
{
    _exit(0);
}

/* The watchdog opens the gate; the case then ends by itself. */
static void waits_until_the_watchdog(void)
{
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    _Atomic uint32_t *word = (_Atomic uint32_t *)(uintptr_t)gate.word;

    mgds_hwqueue_hold(gate, NULL);
    while (atomic_load(word) == 0)
        sched_yield();
}

static void never_ends(void)
{
    for (;;)
        pause();
}

static void never_ends_and_hears_nothing(void)
{
    signal(SIGALRM, SIG_IGN);
    never_ends();
}

static void leaves_a_gate_closed(void)
{
    mgds_hwqueue_hold(mgds_hwqueue_new(), NULL);
}

static void skips(void)
{
    mgds_case_skip("no reason");
}

static void fail_task(void *arg)
{
    EXPECT_EQ(2, *(int *)arg);
}

static void fails_in_a_thread(void)
{
    struct mgds_task task;
    int value = 1;

    mgds_task_start(&task, fail_task, &value);
    mgds_task_join(&task);
}

static void fail_peer(int sock)
{
    mgds_peer_meet(sock);
    EXPECT_EQ(1, 2);
}

static void fails_in_a_peer(void)
{
    struct mgds_peer peer;

    mgds_peer_start(&peer, fail_peer);
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void dead_peer(int sock)
{
    (void)sock;
    raise(SIGKILL);
}

static void loses_its_peer(void)
{
    struct mgds_peer peer;

    mgds_peer_start(&peer, dead_peer);
    mgds_peer_meet(peer.fd);
}

static void calls_what_the_driver_lacks(void)
{
    CUipcEventHandle handle;

    OK(cu.IpcGetEventHandle(&handle, NULL));
}

static void at_exit_fails(void)
{
    _exit(66);
}

static void fails_when_its_process_ends(void)
{
    atexit(at_exit_fails);
}

static void return_task(void *arg)
{
    (void)arg;
}

static void expects_a_call_to_block_that_does_not(void)
{
    mgds_expect_blocked(mgds_hwqueue_new(), "nothing", return_task, NULL);
}

static void wait_task(void *arg)
{
    _Atomic uint32_t *word = arg;

    while (atomic_load(word) == 0)
        sched_yield();
}

static void expects_a_call_to_block_that_does(void)
{
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_expect_blocked(gate, "a wait", wait_task,
                        (void *)(uintptr_t)gate.word);
}

static void expects_a_call_to_return_that_does_not(void)
{
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    mgds_expect_returns(gate, "a wait", wait_task,
                        (void *)(uintptr_t)gate.word);
}

static void set_up_for(double ms)
{
    double until = mgds_now_ms() + ms;

    mgds_setup_begin();
    while (mgds_now_ms() < until)
        sched_yield();
    mgds_setup_end();
}

static void sets_up_for_longer_than_it_may_run(void)
{
    set_up_for(2200);
}

static void slow_peer(int sock)
{
    set_up_for(2200);
    mgds_peer_meet(sock);
}

static void waits_for_a_peer_that_sets_up(void)
{
    struct mgds_peer peer;

    mgds_peer_start(&peer, slow_peer);
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
}

static void sets_up_and_never_ends(void)
{
    set_up_for(1200);
    never_ends();
}

static void never_ends_its_set_up(void)
{
    mgds_setup_begin();
    never_ends();
}

static void needs_two_devices(void)
{
    EXPECT_EQ(1, 2);
}

static const struct mgds_case rows[] = {
    CASE(passes),
    CASE(fails_an_expectation_and_goes_on),
    CASE(aborts),
    CASE(dies_of_a_signal),
    CASE(leaves_by_exit),
    CASE(waits_until_the_watchdog, 0, 0, 1),
    CASE(never_ends, 0, 0, 1),
    CASE(never_ends_and_hears_nothing, 0, 0, 1),
    CASE(leaves_a_gate_closed),
    CASE(skips),
    CASE(fails_in_a_thread),
    CASE(fails_in_a_peer, 0, FRESH),
    CASE(loses_its_peer, 0, FRESH),
    CASE(calls_what_the_driver_lacks),
    CASE(fails_when_its_process_ends, 0, ALONE),
    CASE(expects_a_call_to_block_that_does_not),
    CASE(expects_a_call_to_block_that_does),
    CASE(expects_a_call_to_return_that_does_not, 0, 0, 20),
    CASE(sets_up_for_longer_than_it_may_run, 0, 0, 1),
    CASE(waits_for_a_peer_that_sets_up, 0, FRESH, 1),
    CASE(sets_up_and_never_ends, 0, 0, 1),
    CASE(never_ends_its_set_up, 0, 0, 1),
    CASE(needs_two_devices, NEED_2DEV),
};

const struct mgds_case *mgds_case_at(int index)
{
    return index < mgds_case_count() ? &rows[index] : NULL;
}

int mgds_case_count(void)
{
    return (int)(sizeof(rows) / sizeof(rows[0]));
}
