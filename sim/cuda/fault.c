/* SIGSEGV and SIGBUS (memory whose owner gave it back in another process)
 * inside GPU work. */
#include "sim/cuda/fault.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#include "sim/handler.h"

struct frame {
    sigjmp_buf env;
    struct frame *outer;
};

static _Thread_local struct frame *volatile frame;

static struct mgds_handler handlers[2]; /* SIGSEGV, SIGBUS */
static pthread_mutex_t handlers_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct mgds_passing passing;

static struct mgds_handler *handler_of(int signo)
{
    return &handlers[signo == SIGBUS];
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
    struct frame *target = frame;

    if (!target || info->si_code <= 0) {
        mgds_handler_pass(handler_of(signo), &passing, signo, info, context);
        return;
    }
    frame = target->outer;
    siglongjmp(target->env, EFAULT);
}

void mgds_fault_open(void)
{
    pthread_mutex_lock(&handlers_lock);
    mgds_handler_install(handler_of(SIGSEGV), SIGSEGV, on_fault);
    mgds_handler_install(handler_of(SIGBUS), SIGBUS, on_fault);
    pthread_mutex_unlock(&handlers_lock);
}

int mgds_fault_run(void (*body)(void *arg), void *arg)
{
    struct frame here;
    int rc;

    mgds_fault_open();
    here.outer = frame;
    rc = sigsetjmp(here.env, 1);
    if (rc)
        return -rc;
    frame = &here;
    body(arg);
    frame = here.outer;
    return 0;
}

void mgds_fault_leave(void)
{
    struct frame *target = frame;

    if (!target)
        return;
    frame = target->outer;
    siglongjmp(target->env, ECANCELED);
}
