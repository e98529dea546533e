/* SIGSEGV and SIGBUS (memory whose owner gave it back in another process)
 * inside GPU work. */
#include "sim/cuda/fault.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "sim/cuda/state.h"

struct frame {
    sigjmp_buf env;
    struct frame *outer;
};

static _Thread_local struct frame *volatile frame;

static struct sigaction before[2]; /* SIGSEGV, SIGBUS */

static struct sigaction *old_of(int signo)
{
    return &before[signo == SIGBUS];
}

/* The next in line: a handler, or the default, which strikes again when the
 * instruction is repeated. */
static void pass_on(int signo, siginfo_t *info, void *context)
{
    struct sigaction *old = old_of(signo);

    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(signo, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(signo);
    } else {
        struct sigaction standard;

        memset(&standard, 0, sizeof(standard));
        standard.sa_handler = SIG_DFL;
        sigaction(signo, &standard, NULL);
        if (info->si_code <= 0) /* sent, not struck: it will not repeat */
            raise(signo);
    }
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
    struct frame *target = frame;

    if (!target || info->si_code <= 0) {
        pass_on(signo, info, context);
        return;
    }
    frame = target->outer;
    siglongjmp(target->env, EFAULT);
}

static void install(int signo)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(signo, &action, old_of(signo));
}

void mgds_fault_open(void)
{
    install(SIGSEGV);
    install(SIGBUS);
}

int mgds_fault_run(void (*body)(void *arg), void *arg)
{
    struct frame here;
    int rc;

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
