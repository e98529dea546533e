/* Opening and closing of the wire; see wire.h. */
#include "shim/gds/wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/wire/bell.h"
#include "shim/gds/wire/flight.h"
#include "shim/gds/wire/near.h"
#include "shim/gds/wire/network.h"
#include "shim/gds/wire/peer.h"
#include "shim/gds/wire/progress.h"
#include "shim/gds/wire/state.h"

enum {
    NS_PER_US = 1000,
    NS_PER_MS = 1000000,
    FORCE_NS = 200000000, /* for closes that do not wait for the peer */
    REST_NS = 20000       /* between rounds of a close */
};

/* Under the setup lock. */
static struct mgds_lock setup = MGDS_LOCK_INIT(MGDS_LOCK_SETUP);
static unsigned opens;
static uint64_t close_ns;

/* self (state.h), for others: the last address made, and the one before, which
 * somebody may still read. Under the leaf lock while the wire is open. */
static struct address {
    void *bytes;
    size_t length;
} told, told_before;

/* What others are told from now on. Leaf lock held, or nobody reads it yet. */
static int make_address(void)
{
    struct address made = {.length = mgds_wire_address_bytes(&mgds_wire.self)};

    made.bytes = mgds_malloc(made.length);
    if (!made.bytes)
        return -ENOMEM;
    mgds_wire_address_write(made.bytes, &mgds_wire.self);
    told_before = told;
    told = made;
    return 0;
}

/* Nobody finds the key in what is left. */
static void forget_address(struct address *old)
{
    if (old->bytes)
        explicit_bzero(old->bytes, old->length);
    free(old->bytes);
    *old = (struct address){.bytes = NULL};
}

/* WIRE held. The network with its entry for what arrives. */
static int open_network(void)
{
    int rc = mgds_net_open();

    if (rc == 0)
        rc = mgds_wire_receive();
    if (rc < 0)
        mgds_net_close();
    return rc;
}

/* WIRE held. Gives back whatever there is. */
static void shut_down(void)
{
    mgds_wire.open = false;
    mgds_near_close();
    mgds_net_close();
    forget_address(&told);
    forget_address(&told_before);
    explicit_bzero(&mgds_wire.self, sizeof(mgds_wire.self));
}

/* A process has to be reached in some way: without the first it needs the
 * second from the start. */
static int open_ways(void)
{
    int rc;

    mgds_lock_acquire(&mgds_wire.lock);
    rc = mgds_wire_identity_draw(&mgds_wire.self);
    if (rc == 0 && mgds_near_open() < 0)
        rc = open_network();
    if (rc == 0)
        rc = make_address();
    if (rc < 0)
        shut_down();
    mgds_wire.open = rc == 0;
    mgds_lock_release(&mgds_wire.lock);
    return rc;
}

/* Leaf below WIRE: posts and peers go on meanwhile. */
static int add_network(void)
{
    int rc = 0;

    mgds_lock_acquire(&mgds_wire.lock);
    if (!mgds_net.worker) {
        rc = open_network();
        mgds_lock_acquire(&mgds_wire.leaf);
        if (rc == 0)
            rc = make_address();
        mgds_lock_release(&mgds_wire.leaf);
        if (rc < 0)
            mgds_net_close();
    }
    mgds_lock_release(&mgds_wire.lock);
    mgds_wire_kick(); /* the thread sleeps on what there was */
    return rc;
}

int mgds_wire_open_network(void)
{
    int rc = -ENOTCONN;

    mgds_lock_acquire(&setup);
    if (opens > 0)
        rc = add_network();
    mgds_lock_release(&setup);
    return rc;
}

static void accept_posts(bool accepting)
{
    mgds_lock_acquire(&mgds_wire.leaf);
    mgds_wire.accepting = accepting;
    mgds_lock_release(&mgds_wire.leaf);
}

static int open_all(const struct mgds_config *config)
{
    int rc;

    close_ns = config->wire_close * NS_PER_MS;
    rc = open_ways();
    if (rc < 0)
        return rc;
    rc = mgds_wire_thread_start(config->wire_nap * NS_PER_US,
                                config->progress_affinity);
    if (rc == 0) {
        accept_posts(true);
        return 0;
    }
    errno = -rc;
    mgds_warn("the progress thread cannot be started: %m: raise the limit of "
              "threads (ulimit -u)");
    mgds_lock_acquire(&mgds_wire.lock);
    shut_down();
    mgds_lock_release(&mgds_wire.lock);
    return rc;
}

int mgds_wire_open(const struct mgds_config *config)
{
    int rc = 0;

    mgds_lock_acquire(&setup);
    if (opens == 0)
        rc = open_all(config);
    if (rc == 0)
        opens++;
    mgds_lock_release(&setup);
    return rc;
}

int mgds_wire_address(const void **address, size_t *bytes)
{
    int rc = -ENOTCONN;

    mgds_lock_acquire(&mgds_wire.leaf);
    if (mgds_wire.accepting) {
        *address = told.bytes;
        *bytes = told.length;
        rc = 0;
    }
    mgds_lock_release(&mgds_wire.leaf);
    return rc;
}

static bool flights_over(void)
{
    return mgds_bell_messages() == 0;
}

static bool closes_over(void)
{
    return mgds_wire_closes() == 0;
}

/* Rounds until over() or the deadline; WIRE held. Whether it is over. */
static bool rounds_until(bool (*over)(void), uint64_t deadline)
{
    const struct timespec rest = {.tv_nsec = REST_NS};

    while (!over()) {
        if (mgds_wire_round() > 0)
            continue;
        if (mgds_clock_ns() >= deadline)
            return false;
        nanosleep(&rest, NULL);
    }
    return true;
}

/* WIRE held. */
static void drain_wire(void)
{
    uint64_t deadline = mgds_clock_ns() + close_ns;
    bool over = rounds_until(flights_over, deadline);

    mgds_wire_close_peers(!over);
    over = rounds_until(closes_over,
                        over ? deadline : mgds_clock_ns() + FORCE_NS) &&
           over;
    if (!over)
        mgds_info("the wire was closed with messages under way after %llu ms",
                  (unsigned long long)(close_ns / NS_PER_MS));
}

static void close_all(void)
{
    accept_posts(false);
    mgds_wire_thread_stop();
    mgds_lock_acquire(&mgds_wire.lock);
    drain_wire();
    mgds_wire_forget_closes();
    shut_down();
    mgds_flights_cancel();
    mgds_wire_forget_peers();
    mgds_wire_forget_senders();
    mgds_flights_free_spare();
    mgds_lock_release(&mgds_wire.lock);
}

void mgds_wire_close(void)
{
    mgds_lock_acquire(&setup);
    if (opens > 0 && --opens == 0)
        close_all();
    mgds_lock_release(&setup);
}
