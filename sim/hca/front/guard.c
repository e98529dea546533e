/* SIGSEGV of the engine, where a region has lost its memory. */
#include "sim/hca/front/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/pump.h"

enum { PAGE = 4096 };

static struct sigaction before;

/* By the system call itself: UCX puts code of its own, with locks, into mmap.
 * Where another thread has mapped something meanwhile, that is what the
 * instruction finds when it is repeated. */
static bool fill_hole(uintptr_t at)
{
    uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    int error = errno;
    long got =
        syscall(SYS_mmap, page, PAGE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    bool filled = got == (long)page || (got < 0 && errno == EEXIST);

    errno = error;
    return filled;
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

static void pass_on(int signo, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signo, info, context);
    else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)
        do_default(signo, info);
    else
        before.sa_handler(signo);
}

/* Who has the lock is the engine, or about to be: no other thread changes what
 * is looked at here. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
    if (info->si_code == SEGV_MAPERR && mgds_hca_pump_holds() &&
        mgds_hca_adapters_reach(info->si_addr) &&
        fill_hole((uintptr_t)info->si_addr))
        return;
    pass_on(signo, info, context);
}

void mgds_hca_guard_open(void)
{
    struct sigaction action, now;

    sigaction(SIGSEGV, NULL, &now);
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
        return;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    before = now;
    sigaction(SIGSEGV, &action, NULL);
}
