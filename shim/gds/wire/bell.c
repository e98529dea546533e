/*
 * What wakes the thread.
 *
 * asleep is true while the thread naps, sleeps, or is about to. A thread that
 * makes work first says so (under_way, holds, kicked), then looks at asleep;
 * our thread first sets asleep, then looks at those. So one of the two sees the
 * other (both are sequentially consistent), and no work is slept over. Who
 * finds asleep set clears it and rings the bell.
 */
#include <errno.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "shim/gds/wire/state.h"

bool mgds_wire_is_busy(void)
{
    return atomic_load(&mgds_wire.under_way) > 0 ||
           atomic_load(&mgds_wire.holds) > 0;
}

void mgds_wire_ring(void)
{
    const uint64_t one = 1;

    if (!atomic_load(&mgds_wire.asleep) ||
        !atomic_exchange(&mgds_wire.asleep, false))
        return;
    mgds_lock_acquire(&mgds_wire.leaf);
    /* Full means that it rings already. */
    if (mgds_wire.bell >= 0 && write(mgds_wire.bell, &one, sizeof(one)) < 0 &&
        errno != EAGAIN)
        mgds_warn_once("the progress thread cannot be woken: %m");
    mgds_lock_release(&mgds_wire.leaf);
}

void mgds_wire_nudge(void)
{
    if (atomic_load(&mgds_wire.asleep) && mgds_wire_is_busy())
        mgds_wire_ring();
}

void mgds_wire_kick(void)
{
    if (!atomic_load(&mgds_wire.kicked))
        atomic_store(&mgds_wire.kicked, true);
    mgds_wire_ring();
}

void mgds_wire_hold(void)
{
    if (atomic_fetch_add(&mgds_wire.holds, 1) == 0)
        mgds_wire_nudge();
}

void mgds_wire_release(void)
{
    atomic_fetch_sub(&mgds_wire.holds, 1);
}
