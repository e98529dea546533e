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

/* First the gates, so that neither the device nor a blocked call stays
 * behind; a case that does not end even then is given up. */
static void watchdog(int sig)
{
    static volatile sig_atomic_t rang;

    (void)sig;
    if (rang++)
        _exit(1);
    mgds_gate_open_all();
    mgds_case_fail_signal("timeout: the watchdog released the gates");
    alarm(GRACE);
}

static void set_up(void)
{
    struct sigaction action = {.sa_handler = watchdog};

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

static void start_cuda(void)
{
    if (started)
        return;
    mgds_env_start();
    started = true;
}

static void check_leftovers(const struct mgds_case *row)
{
    int closed = mgds_gate_reset();

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
    alarm(row->timeout ? row->timeout : CASE_SECONDS);
    if (!(row->flags & FRESH))
        start_cuda();
    row->run();
    check_leftovers(row);
    alarm(0);
    mgds_report_end();
}

void mgds_worker_main(int from, int to)
{
    int index;

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
