/* SIGSEGV of the engine, where a region has lost its memory. */
#include "sim/hca/front/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/pump.h"
#include "sim/handler.h"

enum { PAGE = 4096 };

static struct mgds_handler handler;
static _Thread_local struct mgds_passing passing;

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

/* Who has the lock is the engine, or about to be: no other thread changes what
 * is looked at here. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
    if (info->si_code == SEGV_MAPERR && mgds_hca_pump_holds() &&
        mgds_hca_adapters_reach(info->si_addr) &&
        fill_hole((uintptr_t)info->si_addr))
        return;
    mgds_handler_pass(&handler, &passing, signo, info, context);
}

void mgds_hca_guard_open(void)
{
    mgds_handler_install(&handler, SIGSEGV, on_fault);
}
