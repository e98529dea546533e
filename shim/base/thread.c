/* Threads of ours; see thread.h. */
#include "shim/base/thread.h"

#include <signal.h>
#include <stddef.h>

int mgds_thread_start(pthread_t *thread, void *(*run)(void *))
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = -pthread_create(thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
