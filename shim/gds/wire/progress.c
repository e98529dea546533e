/*
 * Rounds, and the thread that makes them.
 *
 * The thread sleeps as bell.c says. Sleep for long needs the worker armed: UCX
 * answers BUSY while it has events that nobody has looked at. Another thread
 * may make rounds meanwhile; if it leaves something under way, it rings.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "shim/base/thread.h"
#include "shim/gds/wire/affinity.h"
#include "shim/gds/wire/near.h"
#include "shim/gds/wire/state.h"

enum {
    ROUND_EVENTS = 16, /* calls of UCX's progress in a round, at most */
    SPIN_NS = 20000,   /* from the last thing done to the first nap */
    SLACK_NS = 1000,   /* what the kernel may add to a nap */
    SECOND_NS = 1000000000
};

/* What ends a sleep for long; BELL ends a nap too. */
enum { BELL, NET, NEAR, ALARM, SOURCES };

static int poll_all(void)
{
    int did = 0;

    for (unsigned i = 0; i < MGDS_WIRE_POLLERS; i++) {
        const struct mgds_wire_poller_row *row = &mgds_wire.pollers[i];

        if (row->poll)
            did += row->poll(row->arg);
    }
    return did;
}

static int net_round(void)
{
    int events = 0;

    while (mgds_wire.worker && events < ROUND_EVENTS &&
           mgds_wire.ucx->ucp_worker_progress(mgds_wire.worker) > 0)
        events++;
    return events;
}

int mgds_wire_round(void)
{
    int did = poll_all() + mgds_wire_submit() + mgds_near_round();
    int events = net_round();

    mgds_wire_lose_given_up();
    /* What a peer sent before its end may be among what is left. */
    if (events < ROUND_EVENTS)
        did += mgds_wire_bury();
    return did + events;
}

int mgds_wire_poller(mgds_wire_poll *poll, void *arg)
{
    int rc = -ENOSPC;

    mgds_lock_acquire(&mgds_wire.lock);
    for (unsigned i = 0; i < MGDS_WIRE_POLLERS && rc < 0; i++) {
        struct mgds_wire_poller_row *row = &mgds_wire.pollers[i];

        if (row->poll)
            continue;
        *row = (struct mgds_wire_poller_row){.poll = poll, .arg = arg};
        rc = 0;
    }
    mgds_lock_release(&mgds_wire.lock);
    return rc;
}

void mgds_wire_poller_end(mgds_wire_poll *poll, void *arg)
{
    mgds_lock_acquire(&mgds_wire.lock);
    for (unsigned i = 0; i < MGDS_WIRE_POLLERS; i++) {
        struct mgds_wire_poller_row *row = &mgds_wire.pollers[i];

        if (row->poll == poll && row->arg == arg)
            row->poll = NULL;
    }
    mgds_lock_release(&mgds_wire.lock);
}

int mgds_wire_progress(void)
{
    int did = 0;

    if (!mgds_lock_try(&mgds_wire.lock))
        return 0;
    if (mgds_wire.open)
        did = mgds_wire_round();
    mgds_lock_release(&mgds_wire.lock);
    mgds_wire_nudge();
    return did;
}

/* Until the bell rings or what the descriptors say, for ns at most; -1 for
 * ever. */
static void wait_for(struct pollfd *on, nfds_t count, int64_t ns)
{
    const struct timespec limit = {.tv_sec = ns / SECOND_NS,
                                   .tv_nsec = ns % SECOND_NS};
    uint64_t rings;

    if (ppoll(on, count, ns < 0 ? NULL : &limit, NULL) > 0 &&
        (on[0].revents & POLLIN) != 0 &&
        read(on[0].fd, &rings, sizeof(rings)) < 0 && errno != EAGAIN)
        mgds_warn_once("the progress thread's bell cannot be read: %m");
}

/* Something is under way, but nothing happens. */
static void nap(void)
{
    struct pollfd on[] = {{.fd = mgds_wire.bell, .events = POLLIN}};

    atomic_store(&mgds_wire.asleep, true);
    if (!atomic_exchange(&mgds_wire.kicked, false))
        wait_for(on, 1, (int64_t)mgds_wire.nap_ns);
    atomic_store(&mgds_wire.asleep, false);
}

/* What signal handlers write to: never closed, since they come at any time. */
static atomic_int alarm_fd = -1;
static atomic_bool runs; /* the thread */

int mgds_wire_wake_init(void)
{
    int fd;

    if (atomic_load(&alarm_fd) >= 0)
        return 0;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    atomic_store(&alarm_fd, fd);
    return 0;
}

bool mgds_wire_wake(void)
{
    const uint64_t one = 1;

    if (!atomic_load(&runs))
        return false;
    atomic_store(&mgds_wire.kicked, true);
    /* full: it rings already */
    return write(atomic_load(&alarm_fd), &one, sizeof(one)) > 0 ||
           errno == EAGAIN;
}

static void drain_alarm(const struct pollfd *on)
{
    uint64_t rings;

    if ((on->revents & POLLIN) != 0 &&
        read(on->fd, &rings, sizeof(rings)) < 0 && errno != EAGAIN)
        mgds_warn_once("the progress thread's alarm cannot be read: %m");
}

/* Both ways. What to wait for, and for how long: ns, or -1. */
static bool arm(struct pollfd on[], int64_t *patience)
{
    ucs_status_t status = UCS_OK;

    mgds_lock_acquire(&mgds_wire.lock);
    if (mgds_wire.worker)
        status = mgds_wire.ucx->ucp_worker_arm(mgds_wire.worker);
    if (status == UCS_OK && !mgds_near_doze())
        status = UCS_ERR_BUSY;
    on[NET].fd = mgds_wire.event;
    on[NEAR].fd = mgds_near_bell();
    *patience = mgds_near_patience();
    mgds_lock_release(&mgds_wire.lock);
    if (status == UCS_OK || status == UCS_ERR_BUSY)
        return status == UCS_OK;
    mgds_warn_once("UCX cannot wait for messages: %s: the progress thread "
                   "polls instead; try another MPIX_GDS_UCX_TLS",
                   mgds_wire.ucx->ucs_status_string(status));
    nap();
    return false;
}

/* Nothing is under way. */
static void sleep_long(void)
{
    struct pollfd on[] = {
        [BELL] = {.fd = mgds_wire.bell, .events = POLLIN},
        [NET] = {.fd = -1, .events = POLLIN},
        [NEAR] = {.fd = -1, .events = POLLIN},
        [ALARM] = {.fd = atomic_load(&alarm_fd), .events = POLLIN}};
    int64_t patience;

    atomic_store(&mgds_wire.asleep, true);
    if (!atomic_exchange(&mgds_wire.kicked, false) && !mgds_wire_is_busy() &&
        !atomic_load(&mgds_wire.stop) && arm(on, &patience)) {
        wait_for(on, SOURCES, patience);
        mgds_near_wake();
    }
    atomic_store(&mgds_wire.asleep, false);
    drain_alarm(&on[ALARM]);
}

static void (*chore)(void);

void mgds_wire_chore(void (*work)(void))
{
    chore = work;
}

static void *run(void *arg)
{
    uint64_t active = mgds_clock_ns(); /* when something was done last */

    (void)arg;
    prctl(PR_SET_NAME, "mpix-gds-wire");
    prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
    mgds_affinity_settle(mgds_wire.affinity);
    while (!atomic_load(&mgds_wire.stop)) {
        if (mgds_wire_progress() > 0)
            active = mgds_clock_ns();
        else if (!mgds_wire_is_busy())
            sleep_long();
        else if (mgds_clock_ns() - active < SPIN_NS)
            sched_yield();
        else
            nap();
        if (chore)
            chore();
    }
    return NULL;
}

static void set_bell(int bell)
{
    mgds_lock_acquire(&mgds_wire.leaf);
    mgds_wire.bell = bell;
    mgds_lock_release(&mgds_wire.leaf);
}

int mgds_wire_thread_start(void)
{
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc;

    if (bell < 0)
        return -errno;
    set_bell(bell);
    atomic_store(&mgds_wire.stop, false);
    atomic_store(&runs, true);
    rc = mgds_thread_start(&mgds_wire.thread, run);
    if (rc < 0) {
        atomic_store(&runs, false);
        set_bell(-1);
        close(bell);
    }
    return rc;
}

void mgds_wire_thread_stop(void)
{
    int bell = mgds_wire.bell;

    atomic_store(&runs, false);
    atomic_store(&mgds_wire.stop, true);
    mgds_wire_ring();
    pthread_join(mgds_wire.thread, NULL);
    set_bell(-1);
    close(bell);
}
