/*
 * Rounds, and the thread that makes them; see progress.h.
 *
 * The thread sleeps as bell.h says. Sleep for long needs the worker armed: UCX
 * answers BUSY while it has events that nobody has looked at. Another thread
 * may make rounds meanwhile; if it leaves something under way, it rings.
 */
#include "shim/gds/wire/progress.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#include "shim/base/thread.h"
#include "shim/gds/wire/affinity.h"
#include "shim/gds/wire/bell.h"
#include "shim/gds/wire/near.h"
#include "shim/gds/wire/network.h"
#include "shim/gds/wire/peer.h"
#include "shim/gds/wire/state.h"

enum {
    SPIN_NS = 20000,     /* from the last thing done to the first nap */
    NAP_PART = 8,        /* of the time since then */
    NAP_LEAST_NS = 1000, /* none is shorter */
    SLACK_NS = 1000      /* what the kernel may add to a nap */
};

/* WIRE lock. */
static struct {
    mgds_wire_poll *poll; /* NULL: a free row */
    void *arg;
} pollers[MGDS_WIRE_POLLERS];

/* All but runs is written under the setup lock, before the thread is made. */
static struct {
    pthread_t id;
    atomic_bool runs; /* it is made, and not to end yet */
    uint64_t nap_ns;  /* the longest one */
    enum mgds_affinity affinity;
    void (*chore)(void);
} thread;

static int poll_all(void)
{
    int did = 0;

    for (unsigned i = 0; i < MGDS_WIRE_POLLERS; i++) {
        if (pollers[i].poll)
            did += pollers[i].poll(pollers[i].arg);
    }
    return did;
}

int mgds_wire_round(void)
{
    int did = poll_all() + mgds_wire_submit() + mgds_near_round();
    int events = mgds_net_round();

    mgds_wire_lose_given_up();
    /* What a peer sent before its end may be among what is left. */
    if (events < MGDS_NET_ROUND)
        did += mgds_wire_bury();
    return did + events;
}

int mgds_wire_poller(mgds_wire_poll *poll, void *arg)
{
    int rc = -ENOSPC;

    mgds_lock_acquire(&mgds_wire.lock);
    for (unsigned i = 0; i < MGDS_WIRE_POLLERS && rc < 0; i++) {
        if (pollers[i].poll)
            continue;
        pollers[i].poll = poll;
        pollers[i].arg = arg;
        rc = 0;
    }
    mgds_lock_release(&mgds_wire.lock);
    return rc;
}

void mgds_wire_poller_end(mgds_wire_poll *poll, void *arg)
{
    mgds_lock_acquire(&mgds_wire.lock);
    for (unsigned i = 0; i < MGDS_WIRE_POLLERS; i++) {
        if (pollers[i].poll == poll && pollers[i].arg == arg)
            pollers[i].poll = NULL;
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
    mgds_bell_nudge();
    return did;
}

bool mgds_wire_wake(void)
{
    return atomic_load(&thread.runs) && mgds_bell_alarm();
}

/* What ends a sleep beside the bell; the longest one, ns, -1: for ever. */
struct sleep {
    int network, near;
    int64_t ns;
};

/* False: something has come meanwhile, or a nap has been made instead. */
static bool arm_sleep(struct sleep *out)
{
    int rc;

    mgds_lock_acquire(&mgds_wire.lock);
    rc = mgds_net_arm();
    if (rc == 0 && !mgds_near_doze())
        rc = -EBUSY;
    *out = (struct sleep){.network = mgds_net.event,
                          .near = mgds_near_bell(),
                          .ns = mgds_near_patience()};
    mgds_lock_release(&mgds_wire.lock);
    if (rc < 0 && rc != -EBUSY)
        mgds_bell_nap(thread.nap_ns);
    return rc == 0;
}

/* Nothing is under way. */
static void sleep_long(void)
{
    struct sleep until;

    if (mgds_bell_doze() && !mgds_bell_is_busy() && atomic_load(&thread.runs) &&
        arm_sleep(&until)) {
        mgds_bell_sleep(until.network, until.near, until.ns);
        mgds_near_wake();
    }
    mgds_bell_rise();
}

/* Nothing was done for so long: what takes long takes a little longer, and what
 * is due soon comes in time. */
static void rest_after(uint64_t idle_ns)
{
    uint64_t ns = idle_ns / NAP_PART;

    if (idle_ns < SPIN_NS) {
        sched_yield();
        return;
    }
    if (ns < NAP_LEAST_NS)
        ns = NAP_LEAST_NS;
    mgds_bell_nap(ns < thread.nap_ns ? ns : thread.nap_ns);
}

void mgds_wire_chore(void (*work)(void))
{
    thread.chore = work;
}

static void *run_progress(void *arg)
{
    /* when something was done last, or was about to be */
    uint64_t active = mgds_clock_ns();

    (void)arg;
    prctl(PR_SET_NAME, "mpix-gds-wire");
    prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
    mgds_affinity_settle(thread.affinity);
    while (atomic_load(&thread.runs)) {
        if (mgds_wire_progress() > 0) {
            active = mgds_clock_ns();
        } else if (!mgds_bell_is_busy()) {
            sleep_long();
            active = mgds_clock_ns();
        } else {
            rest_after(mgds_clock_ns() - active);
        }
        if (thread.chore)
            thread.chore();
    }
    return NULL;
}

int mgds_wire_thread_start(uint64_t nap_ns, enum mgds_affinity affinity)
{
    int rc = mgds_bell_open();

    if (rc < 0)
        return rc;
    thread.nap_ns = nap_ns;
    thread.affinity = affinity;
    atomic_store(&thread.runs, true);
    rc = mgds_thread_start(&thread.id, run_progress);
    if (rc < 0) {
        atomic_store(&thread.runs, false);
        mgds_bell_close();
    }
    return rc;
}

void mgds_wire_thread_stop(void)
{
    atomic_store(&thread.runs, false);
    mgds_bell_ring();
    pthread_join(thread.id, NULL);
    mgds_bell_close();
}
