/* The lock, and the engine's thread. */
#include "sim/hca/front/pump.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/fabric.h"

/* Nanoseconds. REST is the longest that a doorbell waits: it is below 5 ms,
 * and a round every 3 ms costs less than 1 % of a core. */
enum {
    SPIN = 50 * 1000,
    NAP = 50 * 1000,
    DOZE = 20 * 1000 * 1000,
    REST = 3 * 1000 * 1000,
    SECOND = 1000 * 1000 * 1000
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a QP is made, or `stop` */
    pthread_t thread;
    bool started;
    atomic_bool stop;
    unsigned qps;
    atomic_bool inlined; /* a poller ran the engines: set without the lock */
} pump = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mgds_hca_lock(void)
{
    pthread_mutex_lock(&pump.lock);
}

void mgds_hca_unlock(void)
{
    pthread_mutex_unlock(&pump.lock);
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Gives the lock away for this long; a new QP ends it early. */
static void rest(uint64_t from, uint64_t time)
{
    uint64_t end = from + time;
    struct timespec until = {.tv_sec = (time_t)(end / SECOND),
                             .tv_nsec = (long)(end % SECOND)};

    pthread_cond_timedwait(&pump.wake, &pump.lock, &until);
}

static void yield(void)
{
    mgds_hca_unlock();
    sched_yield();
    mgds_hca_lock();
}

/* What to do between two rounds, by how long nothing was rung. */
static void pause_between(uint64_t worked)
{
    uint64_t time = now();

    if (atomic_exchange_explicit(&pump.inlined, false, memory_order_relaxed) ||
        time - worked >= DOZE)
        rest(time, REST);
    else if (time - worked >= SPIN)
        rest(time, NAP);
    else
        yield();
}

static void *run(void *unused)
{
    uint64_t worked = now();

    mgds_hca_lock();
    while (!pump.stop) {
        if (pump.qps == 0) {
            pthread_cond_wait(&pump.wake, &pump.lock);
            worked = now();
            continue;
        }
        if (mgds_hca_adapters_run() > 0)
            worked = now();
        pause_between(worked);
    }
    mgds_hca_unlock();
    return unused;
}

/* Signals are for the program's threads. */
static int start(void)
{
    pthread_condattr_t clock;
    sigset_t all, old;
    int rc;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&pump.wake, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&pump.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return -rc;
    pthread_setname_np(pump.thread, "mpix-sim-hca");
    pump.started = true;
    return 0;
}

int mgds_hca_pump_add(void)
{
    int rc = pump.started ? 0 : start();

    if (rc < 0)
        return rc;
    pump.qps++;
    pthread_cond_signal(&pump.wake);
    return 0;
}

void mgds_hca_pump_drop(void)
{
    pump.qps--;
}

void mgds_hca_pump_inline(void)
{
    if (pthread_mutex_trylock(&pump.lock) != 0)
        return;
    if (!pump.stop)
        mgds_hca_adapters_run();
    pthread_mutex_unlock(&pump.lock);
    if (!atomic_load_explicit(&pump.inlined, memory_order_relaxed))
        atomic_store_explicit(&pump.inlined, true, memory_order_relaxed);
}

bool mgds_hca_pump_serves(void)
{
    return !atomic_load_explicit(&pump.stop, memory_order_relaxed) &&
           mgds_hca_fabric_ours();
}

/* Memory of the program goes with it. */
void mgds_hca_pump_stop(void)
{
    if (!mgds_hca_fabric_ours())
        return;
    mgds_hca_lock();
    pump.stop = true;
    if (pump.started)
        pthread_cond_signal(&pump.wake);
    mgds_hca_unlock();
    if (pump.started)
        pthread_join(pump.thread, NULL);
}
