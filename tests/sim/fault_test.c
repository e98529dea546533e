/* Tests of sim/cuda/fault.c: faults of GPU work end the work, faults of the
 * program stay the program's. */
#include "tests/sim/gpu.h"

#include <errno.h>
#include <sys/mman.h>

#include "sim/cuda/fault.h"

static char *hole;
static sigjmp_buf out;
static volatile int handled;

static void make_hole(void)
{
    hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CLAIM(hole != MAP_FAILED);
}

static void poke_hole(void *arg)
{
    (void)arg;
    *(volatile char *)hole = 1;
}

static void on_segv(int signo)
{
    (void)signo;
    handled++;
    siglongjmp(out, 1);
}

static void take_over(void)
{
    struct sigaction action = {.sa_handler = on_segv, .sa_flags = SA_NODEFER};

    CLAIM(sigaction(SIGSEGV, &action, NULL) == 0);
}

static void application_faults(void)
{
    int before = handled;

    if (sigsetjmp(out, 1) == 0)
        poke_hole(NULL);
    CLAIM(handled == before + 1);
}

GPU_TEST(work_that_faults_ends)
{
    (void)arg;
    make_hole();
    for (int i = 0; i < 3; i++)
        CLAIM(mgds_fault_run(poke_hole, NULL) == -EFAULT);
}

static void leave(void *arg)
{
    (void)arg;
    mgds_fault_leave();
    _exit(1);
}

GPU_TEST(work_that_is_told_to_leave_ends)
{
    (void)arg;
    CLAIM(mgds_fault_run(leave, NULL) == -ECANCELED);
    mgds_fault_leave(); /* nothing runs: nothing happens */
}

GPU_TEST(handler_from_before_keeps_its_faults)
{
    (void)arg;
    make_hole();
    take_over();
    CLAIM(mgds_fault_run(poke_hole, NULL) == -EFAULT);
    CLAIM(handled == 0);
    for (int i = 0; i < 3; i++)
        application_faults();
    CLAIM(mgds_fault_run(poke_hole, NULL) == -EFAULT);
}

GPU_TEST(handler_put_over_ours_keeps_its_faults)
{
    (void)arg;
    make_hole();
    mgds_fault_open();
    take_over();
    application_faults();
    CLAIM(mgds_fault_run(poke_hole, NULL) == -EFAULT);
    CLAIM(handled == 1);
    application_faults();
}

static struct sigaction replaced;

static void on_segv_chained(int signo, siginfo_t *info, void *context)
{
    handled++;
    replaced.sa_sigaction(signo, info, context);
}

static void put_chained_over(void)
{
    struct sigaction action = {.sa_sigaction = on_segv_chained,
                               .sa_flags = SA_SIGINFO | SA_NODEFER};

    CLAIM(sigaction(SIGSEGV, &action, &replaced) == 0);
}

/* The program's handler, ours, one that calls ours, and ours again, which both
 * lead to the program's. */
GPU_TEST(handler_from_before_is_found_through_a_chain)
{
    (void)arg;
    make_hole();
    take_over();
    mgds_fault_open();
    put_chained_over();
    for (int i = 0; i < 3; i++) {
        CLAIM(mgds_fault_run(poke_hole, NULL) == -EFAULT);
        if (sigsetjmp(out, 1) == 0)
            poke_hole(NULL);
        CLAIM(handled == 2 * (i + 1));
    }
}

/* A crash reporter over ours that calls what it replaced, and the fault is
 * nobody's: the process must die, not run in circles. */
static void fault_in_a_chain(void *arg)
{
    (void)arg;
    make_hole();
    gpu_crash_plainly();
    alarm(30);
    mgds_fault_open();
    put_chained_over();
    CLAIM(mgds_fault_run(poke_hole, NULL) == -EFAULT);
    poke_hole(NULL);
}

static void chained_handlers_do_not_go_in_circles(void **state)
{
    static struct mgds_child child;

    (void)state;
    mgds_child_run(&child, fault_in_a_chain, NULL);
    assert_true(gpu_crashed(&child));
}

/* SA_RESETHAND. */
static void fault_twice(void *arg)
{
    struct sigaction action = {.sa_handler = on_segv,
                               .sa_flags = SA_NODEFER | (int)SA_RESETHAND};

    (void)arg;
    make_hole();
    CLAIM(sigaction(SIGSEGV, &action, NULL) == 0);
    mgds_fault_open();
    application_faults();
    poke_hole(NULL);
}

static void handler_for_one_fault_has_one(void **state)
{
    static struct mgds_child child;

    (void)state;
    mgds_child_run(&child, fault_twice, NULL);
    assert_true(gpu_crashed(&child));
}

/* What is sent is ignored, and what is struck is not. */
static void ignore(void *arg)
{
    (void)arg;
    make_hole();
    signal(SIGSEGV, SIG_IGN);
    mgds_fault_open();
    CLAIM(raise(SIGSEGV) == 0);
    fputs("ignored", stderr);
    poke_hole(NULL);
}

static void ignored_signals_stay_ignored(void **state)
{
    static struct mgds_child child;

    (void)state;
    mgds_child_run(&child, ignore, NULL);
    assert_string_equal(child.errors, "ignored");
    assert_true(gpu_crashed(&child));
}

static void crash(void *arg)
{
    (void)arg;
    make_hole();
    gpu_crash_plainly();
    mgds_fault_open();
    poke_hole(NULL);
}

static void crash_of_the_program_stays_a_crash(void **state)
{
    static struct mgds_child child;

    (void)state;
    mgds_child_run(&child, crash, NULL);
    assert_true(gpu_crashed(&child));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_that_faults_ends),
        cmocka_unit_test(work_that_is_told_to_leave_ends),
        cmocka_unit_test(handler_from_before_keeps_its_faults),
        cmocka_unit_test(handler_put_over_ours_keeps_its_faults),
        cmocka_unit_test(handler_from_before_is_found_through_a_chain),
        cmocka_unit_test(handler_for_one_fault_has_one),
        cmocka_unit_test(ignored_signals_stay_ignored),
        cmocka_unit_test(chained_handlers_do_not_go_in_circles),
        cmocka_unit_test(crash_of_the_program_stays_a_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
