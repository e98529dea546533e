/* Opening and closing of the wire; see wire.h. */
#include "shim/gds/wire/wire.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/wire/near.h"
#include "shim/gds/wire/state.h"

enum {
    NS_PER_US = 1000,
    NS_PER_MS = 1000000,
    FORCE_NS = 200000000, /* for closes that do not wait for the peer */
    REST_NS = 20000       /* between rounds of a close */
};

/* What others are told from now on. Leaf lock held, or nobody reads it yet. */
static int make_address(void)
{
    size_t bytes = mgds_wire_address_bytes(&mgds_wire.self);
    void *address = mgds_malloc(bytes);

    if (!address)
        return -ENOMEM;
    mgds_wire_address_write(address, &mgds_wire.self);
    mgds_wire.address_before = mgds_wire.address;
    mgds_wire.address_before_bytes = mgds_wire.address_bytes;
    mgds_wire.address = address;
    mgds_wire.address_bytes = bytes;
    return 0;
}

/* Nobody finds the key in what is left. */
static void forget(void **address, size_t bytes)
{
    if (*address)
        explicit_bzero(*address, bytes);
    free(*address);
    *address = NULL;
}

/* WIRE held. Gives back whatever there is. */
static void shut_down(void)
{
    mgds_wire.open = false;
    mgds_near_close();
    mgds_net_close();
    forget(&mgds_wire.address, mgds_wire.address_bytes);
    forget(&mgds_wire.address_before, mgds_wire.address_before_bytes);
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
        rc = mgds_net_open();
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
    if (!mgds_wire.worker) {
        rc = mgds_net_open();
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

    mgds_lock_acquire(&mgds_wire.setup);
    if (mgds_wire.opens > 0)
        rc = add_network();
    mgds_lock_release(&mgds_wire.setup);
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

    mgds_wire.nap_ns = config->wire_nap * NS_PER_US;
    mgds_wire.affinity = config->progress_affinity;
    mgds_wire.close_ns = config->wire_close * NS_PER_MS;
    rc = open_ways();
    if (rc < 0)
        return rc;
    rc = mgds_wire_thread_start();
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

    mgds_lock_acquire(&mgds_wire.setup);
    if (mgds_wire.opens == 0)
        rc = open_all(config);
    if (rc == 0)
        mgds_wire.opens++;
    mgds_lock_release(&mgds_wire.setup);
    return rc;
}

int mgds_wire_address(const void **address, size_t *bytes)
{
    int rc = -ENOTCONN;

    mgds_lock_acquire(&mgds_wire.leaf);
    if (mgds_wire.accepting) {
        *address = mgds_wire.address;
        *bytes = mgds_wire.address_bytes;
        rc = 0;
    }
    mgds_lock_release(&mgds_wire.leaf);
    return rc;
}

static bool flights_over(void)
{
    return atomic_load(&mgds_wire.under_way) == 0;
}

static bool closes_over(void)
{
    return mgds_wire.closing == 0;
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
static void drain(void)
{
    uint64_t deadline = mgds_clock_ns() + mgds_wire.close_ns;
    bool over = rounds_until(flights_over, deadline);

    mgds_wire_close_peers(!over);
    over = rounds_until(closes_over,
                        over ? deadline : mgds_clock_ns() + FORCE_NS) &&
           over;
    if (!over)
        mgds_info("the wire was closed with messages under way after %llu ms",
                  (unsigned long long)(mgds_wire.close_ns / NS_PER_MS));
}

static void close_all(void)
{
    accept_posts(false);
    mgds_wire_thread_stop();
    mgds_lock_acquire(&mgds_wire.lock);
    drain();
    shut_down();
    mgds_wire_cancel_all();
    TAILQ_INIT(&mgds_wire.lost);
    mgds_wire.closing = 0;
    mgds_wire_forget_peers();
    mgds_wire_free_spare();
    mgds_lock_release(&mgds_wire.lock);
}

void mgds_wire_close(void)
{
    mgds_lock_acquire(&mgds_wire.setup);
    if (mgds_wire.opens > 0 && --mgds_wire.opens == 0)
        close_all();
    mgds_lock_release(&mgds_wire.setup);
}
