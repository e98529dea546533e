/* SIGSEGV and SIGBUS (memory whose owner gave it back in another process)
 * inside GPU work. */
#include "sim/cuda/fault.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct frame {
    sigjmp_buf env;
    struct frame *outer;
};

static _Thread_local struct frame *volatile frame;

/* Whom to pass faults on to: SIGSEGV, SIGBUS. */
static struct sigaction before[2];
static pthread_mutex_t before_lock = PTHREAD_MUTEX_INITIALIZER;

/* This thread passes a fault on: a handler that was put over ours and calls
 * what it replaced comes back here. */
static _Thread_local volatile sig_atomic_t passing;

static struct sigaction *old_of(int signo)
{
    return &before[signo == SIGBUS];
}

/* The default strikes again when the instruction is repeated. */
static void do_default(int signo, const siginfo_t *info)
{
    struct sigaction standard;

    memset(&standard, 0, sizeof(standard));
    standard.sa_handler = SIG_DFL;
    sigaction(signo, &standard, NULL);
    if (info->si_code <= 0) /* sent, not struck: it will not repeat */
        raise(signo);
}

/* The next in line. */
static void pass_on(int signo, siginfo_t *info, void *context)
{
    const struct sigaction *old = old_of(signo);
    bool plain = !(old->sa_flags & SA_SIGINFO);

    if (passing ||
        (plain && (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN))) {
        do_default(signo, info);
        return;
    }
    passing = 1;
    if (plain)
        old->sa_handler(signo);
    else
        old->sa_sigaction(signo, info, context);
    passing = 0;
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
    struct sigaction action, now;

    sigaction(signo, NULL, &now);
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
        return;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    *old_of(signo) = now;
    sigaction(signo, &action, NULL);
}

void mgds_fault_open(void)
{
    pthread_mutex_lock(&before_lock);
    install(SIGSEGV);
    install(SIGBUS);
    pthread_mutex_unlock(&before_lock);
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
