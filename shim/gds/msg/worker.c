/* The thread of calls that may be stuck; see worker.h. */
#include "shim/gds/msg/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/thread.h"

static struct mgds_lock lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
/* under the lock */
static bool made, due, stop;
static void (*work)(void); /* constant when the thread runs */
static pthread_t thread;   /* of who starts and ends it */

/* False: the thread is to end. */
static bool await_call(void)
{
    bool goes_on;

    mgds_lock_acquire(&lock);
    while (!due && !stop)
        pthread_cond_wait(&called, &lock.mutex);
    goes_on = !stop;
    due = false;
    mgds_lock_release(&lock);
    return goes_on;
}

static void *run_worker(void *arg)
{
    (void)arg;
    prctl(PR_SET_NAME, "mpix-gds-work");
    while (await_call())
        work();
    return NULL;
}

void mgds_worker_init(void (*what)(void))
{
    mgds_lock_acquire(&lock);
    work = what;
    mgds_lock_release(&lock);
}

bool mgds_worker_call(void)
{
    int rc = 0;

    mgds_lock_acquire(&lock);
    if (!due)
        pthread_cond_signal(&called);
    due = true;
    if (!made)
        rc = mgds_thread_start(&thread, run_worker);
    made = rc == 0;
    mgds_lock_release(&lock);
    if (rc == 0)
        return true;
    errno = -rc;
    mgds_warn_once("no thread for messages that nobody comes to copy: %m: "
                   "they wait until the program calls MPI");
    return false;
}

void mgds_worker_fini(void)
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
