/* The thread pool. A thread without a job sleeps on a condition and ends after
 * a second, so an idle process has no threads and wakes nothing. */
#include "sim/cuda/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "sim/cuda/state.h"
#include "shim/base/log.h"

#define IDLE_SECONDS 1

struct job {
    void (*run)(void *arg);
    void *arg;
    struct job *next;
};

static struct pool {
    struct job *head, **tail;
    unsigned waiting; /* jobs nobody took yet */
    unsigned idle;    /* threads that sleep */
    pthread_cond_t given;
} pool = {.tail = &pool.head, .given = PTHREAD_COND_INITIALIZER};

static struct job *take(void)
{
    struct job *job = pool.head;

    pool.head = job->next;
    if (!pool.head)
        pool.tail = &pool.head;
    pool.waiting--;
    return job;
}

/* False if no job came in time. */
static bool await_job(void)
{
    struct timespec end;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += IDLE_SECONDS;
    pool.idle++;
    while (!pool.head && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&pool.given, &mgds_gpu.lock, &end);
    pool.idle--;
    return pool.head != NULL;
}

/* The name is for who must tell the GPU's threads from a program's, such as
 * tests/enq/keeper.h. */
static void *work(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "mpix-sim-gpu");
    pthread_mutex_lock(&mgds_gpu.lock);
    /* the job it was started for may have gone to a thread that was faster */
    while (pool.head || await_job()) {
        struct job *job = take();

        job->run(job->arg);
        free(job);
    }
    pthread_mutex_unlock(&mgds_gpu.lock);
    return NULL;
}

/* Signals of the application are none of our threads' business; faults are. */
static void start_thread(void)
{
    static const int ours[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;
    int rc;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        sigdelset(&all, ours[i]);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &attr, work, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (rc) {
        mgds_warn("software GPU: cannot start a thread for GPU work: raise "
                  "`ulimit -u` "
                  "or use fewer streams");
        abort();
    }
}

void mgds_pool_run(void (*run)(void *arg), void *arg)
{
    struct job *job = mgds_gpu_calloc(1, sizeof(*job));

    job->run = run;
    job->arg = arg;
    *pool.tail = job;
    pool.tail = &job->next;
    pool.waiting++;
    if (pool.waiting <= pool.idle)
        pthread_cond_signal(&pool.given);
    else
        start_thread();
}
