/* A worker process: runs cases one after another in one CUDA process, with a
 * watchdog that opens every gate before it gives a case up. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "run.h"

/* Seconds a released case has to end by itself. */
#define GRACE 3

static bool started;
static struct mgds_clock *setup;
static double setup_before; /* the case; milliseconds */
static int given;           /* back to the case; seconds */

/* Gives the time back that the case's processes spent in set-up since it
 * began; false when all has been given back. */
static bool excused(void)
{
    double ms = mgds_clock_setup_ms(setup) - setup_before;
    int spent = (int)(ms / 1e3) + mgds_clock_busy(setup);

    if (spent > mgds_setup_seconds)
        spent = mgds_setup_seconds;
    if (spent <= given)
        return false;
    alarm((unsigned)(spent - given));
    given = spent;
    return true;
}

/* First the gates, so that neither the device nor a blocked call stays
 * behind; a case that does not end even then is given up. */
static void watchdog(int sig)
{
    static volatile sig_atomic_t rang;

    (void)sig;
    if (!rang && excused())
        return;
    if (rang++)
        _exit(1);
    mgds_hwqueue_open_all();
    if (mgds_clock_busy(setup))
        mgds_case_fail_signal("timeout: CUDA was not set up in time");
    else
        mgds_case_fail_signal("timeout: the watchdog released the gates");
    alarm(GRACE);
}

static void set_up(void)
{
    struct sigaction action = {.sa_handler = watchdog, .sa_flags = SA_RESTART};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGALRM, &action, NULL);
    /* 32 hardware queues: a held stream must not stall an unrelated one. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

static void load_driver(void)
{
    char why[800];

    if (mgds_driver_load(why, sizeof(why)))
        mgds_case_abort("libcuda", 0, "%s", why);
}

static void start_cuda(const struct mgds_case *row)
{
    if (!started)
        mgds_env_start();
    started = true;
    if (row->needs & (NEED_2DEV | NEED_PEER))
        mgds_env_start_second();
}

static void check_leftovers(const struct mgds_case *row)
{
    int closed = mgds_hwqueue_reset();

    if (closed)
        mgds_case_fail(NULL, 0, "the case left %d gates closed", closed);
    if (row->flags & (ALONE | FRESH))
        return;
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    OK(cu.CtxSynchronize());
    mgds_env_clean();
}

static void run_case(const struct mgds_case *row)
{
    setup_before = mgds_clock_setup_ms(setup);
    given = 0;
    alarm(row->timeout ? row->timeout : CASE_SECONDS);
    if (!(row->flags & FRESH))
        start_cuda(row);
    row->run();
    check_leftovers(row);
    alarm(0);
    mgds_report_end();
}

void mgds_worker_main(int from, int to, struct mgds_clock *clock)
{
    int index;

    setup = clock;
    mgds_clock_use(clock);
    set_up();
    mgds_report_open(to);
    load_driver();
    while (read(from, &index, sizeof(index)) == sizeof(index)) {
        run_case(mgds_case_at(index));
        if (mgds_report_failed())
            break;
    }
    exit(0);
}
