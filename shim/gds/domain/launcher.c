/* The thread of calls that may be stuck; see launcher.h. */
#include "shim/gds/domain/launcher.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "shim/base/lock.h"
#include "shim/base/log.h"

static struct mgds_lock lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
/* under the lock */
static bool made, due, stop;
static void (*work)(void);
static pthread_t thread; /* of who starts and ends it */

typedef void call(void);

/* What to do; NULL: it is to end. */
static call *await_call(void)
{
    call *what;

    mgds_lock_acquire(&lock);
    while (!due && !stop)
        pthread_cond_wait(&called, &lock.mutex);
    what = stop ? NULL : work;
    due = false;
    mgds_lock_release(&lock);
    return what;
}

static void *run(void *arg)
{
    call *what;

    (void)arg;
    prctl(PR_SET_NAME, "mpix-gds-fetch");
    while ((what = await_call()) != NULL)
        what();
    return NULL;
}

/* Signals are the application's. */
static int start(void)
{
    sigset_t all;
    sigset_t before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void mgds_launcher_call(void (*what)(void))
{
    int rc = 0;

    mgds_lock_acquire(&lock);
    work = what;
    if (!due)
        pthread_cond_signal(&called);
    due = true;
    if (!made)
        rc = start();
    made = rc == 0;
    mgds_lock_release(&lock);
    if (rc == 0)
        return;
    errno = rc;
    mgds_warn_once("no thread for messages that nobody comes to copy: %m: "
                   "they wait until the program calls MPI");
}

void mgds_launcher_fini(void)
{
    bool any;

    mgds_lock_acquire(&lock);
    any = made;
    stop = true;
    pthread_cond_signal(&called);
    mgds_lock_release(&lock);
    if (any)
        pthread_join(thread, NULL);
    mgds_lock_acquire(&lock);
    made = due = stop = false;
    mgds_lock_release(&lock);
}
