/* What wakes the progress thread; see bell.h. */
#include "shim/gds/wire/bell.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "shim/gds/wire/state.h"

enum { SECOND_NS = 1000000000 };

/* What ends a sleep; OWN ends a nap too. */
enum { OWN, ALARM, NET, NEAR, SOURCES };

static struct {
    _Alignas(MGDS_WIRE_LINE) atomic_bool asleep; /* see bell.h */
    atomic_bool kicked;                          /* the same */
    atomic_uint holds;
    atomic_uint messages; /* posts and arrivals without outcome */
    int ring; /* eventfd, or -1; written under the leaf lock, and read under it
                 by all but the thread, which lives while it is open */
    atomic_int alarm; /* eventfd that signal handlers write to, or -1: never
                         closed, since they come at any time */
} bell = {.ring = -1, .alarm = -1};

static void set_ring(int fd)
{
    mgds_lock_acquire(&mgds_wire.leaf);
    bell.ring = fd;
    mgds_lock_release(&mgds_wire.leaf);
}

int mgds_bell_open(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0)
        return -errno;
    set_ring(fd);
    return 0;
}

void mgds_bell_close(void)
{
    int fd = bell.ring;

    set_ring(-1);
    close(fd);
}

void mgds_bell_message_begin(void)
{
    atomic_fetch_add(&bell.messages, 1);
}

void mgds_bell_message_end(void)
{
    atomic_fetch_sub(&bell.messages, 1);
}

unsigned mgds_bell_messages(void)
{
    return atomic_load(&bell.messages);
}

bool mgds_bell_is_busy(void)
{
    return atomic_load(&bell.messages) > 0 || atomic_load(&bell.holds) > 0;
}

void mgds_bell_ring(void)
{
    const uint64_t one = 1;

    if (!atomic_load(&bell.asleep) || !atomic_exchange(&bell.asleep, false))
        return;
    mgds_lock_acquire(&mgds_wire.leaf);
    /* Full means that it rings already. */
    if (bell.ring >= 0 && write(bell.ring, &one, sizeof(one)) < 0 &&
        errno != EAGAIN)
        mgds_warn_once("the progress thread cannot be woken: %m");
    mgds_lock_release(&mgds_wire.leaf);
}

void mgds_bell_nudge(void)
{
    if (atomic_load(&bell.asleep) && mgds_bell_is_busy())
        mgds_bell_ring();
}

void mgds_wire_kick(void)
{
    if (!atomic_load(&bell.kicked))
        atomic_store(&bell.kicked, true);
    mgds_bell_ring();
}

void mgds_wire_hold(void)
{
    if (atomic_fetch_add(&bell.holds, 1) == 0)
        mgds_bell_nudge();
}

void mgds_wire_release(void)
{
    atomic_fetch_sub(&bell.holds, 1);
}

int mgds_wire_wake_init(void)
{
    int fd;

    if (atomic_load(&bell.alarm) >= 0)
        return 0;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    atomic_store(&bell.alarm, fd);
    return 0;
}

bool mgds_bell_alarm(void)
{
    const uint64_t one = 1;

    atomic_store(&bell.kicked, true);
    /* full: it rings already */
    return write(atomic_load(&bell.alarm), &one, sizeof(one)) > 0 ||
           errno == EAGAIN;
}

bool mgds_bell_doze(void)
{
    atomic_store(&bell.asleep, true);
    return !atomic_exchange(&bell.kicked, false);
}

void mgds_bell_rise(void)
{
    atomic_store(&bell.asleep, false);
}

static void read_rings(const struct pollfd *on)
{
    uint64_t rings;

    if ((on->revents & POLLIN) != 0 &&
        read(on->fd, &rings, sizeof(rings)) < 0 && errno != EAGAIN)
        mgds_warn_once("the progress thread's bell cannot be read: %m");
}

static void wait_for(struct pollfd *on, nfds_t count, int64_t ns)
{
    const struct timespec limit = {.tv_sec = ns / SECOND_NS,
                                   .tv_nsec = ns % SECOND_NS};

    if (ppoll(on, count, ns < 0 ? NULL : &limit, NULL) > 0)
        read_rings(&on[OWN]);
}

void mgds_bell_nap(uint64_t ns)
{
    struct pollfd on[] = {[OWN] = {.fd = bell.ring, .events = POLLIN}};

    if (mgds_bell_doze())
        wait_for(on, 1, (int64_t)ns);
    mgds_bell_rise();
}

void mgds_bell_sleep(int network, int near, int64_t ns)
{
    struct pollfd on[] = {
        [OWN] = {.fd = bell.ring, .events = POLLIN},
        [ALARM] = {.fd = atomic_load(&bell.alarm), .events = POLLIN},
        [NET] = {.fd = network, .events = POLLIN},
        [NEAR] = {.fd = near, .events = POLLIN}};

    wait_for(on, SOURCES, ns);
    read_rings(&on[ALARM]);
}
