/* The lock, and the engine's thread. */
#include "sim/hca/front/pump.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/ports.h"

/* Nanoseconds. REST is the longest that a doorbell waits: it is below 5 ms,
 * and a round every 3 ms costs less than 1 % of a core. A program polls if it
 * did so more than POLLS times in a nap. */
enum {
    SPIN = 50 * 1000,
    NAP = 50 * 1000,
    DOZE = 20 * 1000 * 1000,
    REST = 3 * 1000 * 1000,
    SECOND = 1000 * 1000 * 1000,
    POLLS = 8,
    SLACK = 1000,
    TURN = 100 * 1000
};

_Static_assert(sizeof(pthread_t) == sizeof(unsigned long), "0 is no thread");

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a QP is made, or `stop` */
    pthread_t thread;
    bool started;
    atomic_bool stop;
    unsigned qps;
    atomic_uint waiting;       /* for the lock */
    atomic_uint polls;         /* by programs, since the thread looked */
    _Atomic(pthread_t) holder; /* of the lock; 0: nobody */
} pump = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void take_hold(pthread_t thread)
{
    atomic_store_explicit(&pump.holder, thread, memory_order_relaxed);
}

bool mgds_hca_pump_holds(void)
{
    return atomic_load_explicit(&pump.holder, memory_order_relaxed) ==
           pthread_self();
}

void mgds_hca_lock(void)
{
    atomic_fetch_add_explicit(&pump.waiting, 1, memory_order_relaxed);
    pthread_mutex_lock(&pump.lock);
    atomic_fetch_sub_explicit(&pump.waiting, 1, memory_order_relaxed);
    take_hold(pthread_self());
}

void mgds_hca_unlock(void)
{
    take_hold(0);
    pthread_mutex_unlock(&pump.lock);
}

/* Under the lock, which others may have meanwhile. */
static void wait_for_qp(void)
{
    take_hold(0);
    pthread_cond_wait(&pump.wake, &pump.lock);
    take_hold(pthread_self());
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Lets who waits for the lock have it. Nobody is yielded to without need: Linux
 * 6.18 takes a thread that yields again and again for one that wants no more
 * for a long time. */
static void relax(void)
{
    if (atomic_load_explicit(&pump.waiting, memory_order_relaxed) == 0)
        return;
    mgds_hca_unlock();
    sched_yield();
    mgds_hca_lock();
}

/* Gives the lock away for this long, or until a packet comes. */
static void rest(uint64_t time)
{
    if (!mgds_hca_ports_lie_down()) {
        relax();
        return;
    }
    mgds_hca_unlock();
    mgds_hca_ports_sleep(time);
    mgds_hca_lock();
    mgds_hca_ports_get_up();
}

/* The program takes packets itself: nobody is to wake this thread for them. */
static void nap(void)
{
    struct timespec time = {.tv_nsec = NAP};

    mgds_hca_unlock();
    nanosleep(&time, NULL);
    mgds_hca_lock();
}

/* What to do between two rounds, by how long nothing was done. */
static void pause_between(uint64_t worked)
{
    uint64_t idle = now() - worked;

    if (atomic_exchange_explicit(&pump.polls, 0, memory_order_relaxed) > POLLS)
        nap();
    else if (idle >= DOZE)
        rest(REST);
    else if (idle >= SPIN)
        rest(NAP);
    else
        relax();
}

/* Short turns, which begin soon after a rest has ended though others keep the
 * cores busy. Kernels before 6.12 take no notice. */
static void ask_for_short_turns(void)
{
    struct {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime;
        uint64_t deadline;
        uint64_t period;
    } attr = {.size = sizeof(attr), .policy = SCHED_OTHER, .runtime = TURN};

    attr.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &attr, 0);
    prctl(PR_SET_TIMERSLACK, SLACK);
}

static void *run(void *unused)
{
    uint64_t worked = now();

    ask_for_short_turns();
    mgds_hca_lock();
    while (!pump.stop) {
        if (pump.qps == 0) {
            wait_for_qp();
            worked = now();
            continue;
        }
        mgds_hca_ports_control();
        if (mgds_hca_adapters_run() > 0)
            worked = now();
        pause_between(worked);
    }
    mgds_hca_unlock();
    return unused;
}

/* Signals are for the program's threads; a fault is of the thread that it
 * strikes (guard.h). */
static int start(void)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
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
    atomic_fetch_add_explicit(&pump.polls, 1, memory_order_relaxed);
    if (pthread_mutex_trylock(&pump.lock) != 0)
        return;
    take_hold(pthread_self());
    if (!pump.stop)
        mgds_hca_adapters_run();
    mgds_hca_unlock();
}

bool mgds_hca_pump_serves(void)
{
    return !atomic_load_explicit(&pump.stop, memory_order_relaxed) &&
           mgds_hca_ports_ours();
}

void mgds_hca_pump_forget(void)
{
    pump.stop = true;
}

/* Memory of the program goes with it. */
void mgds_hca_pump_stop(void)
{
    if (!mgds_hca_ports_ours())
        return;
    mgds_hca_lock();
    pump.stop = true;
    if (pump.started)
        pthread_cond_signal(&pump.wake);
    mgds_hca_unlock();
    if (pump.started)
        pthread_join(pump.thread, NULL);
}
