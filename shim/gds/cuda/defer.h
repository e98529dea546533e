/*
 * What must not be done now: freeing, unregistering and closing wait for the
 * whole device, and every CUDA call of the process waits behind them
 * (measured; while a wait of ours stands on a stream that is for ever). So
 * these go on a list that is worked off at safe points.
 *
 * Concurrency. One word, the head of a list: any thread puts an item in front
 * of it by compare-and-swap; a drain takes the whole list by exchange. An item
 * belongs to the list from the put on, then to the drain that took it. What one
 * drain takes it runs in the order in which it was put: so who unmaps memory of
 * another process and then frees its own does so in that order.
 */
#ifndef MGDS_CUDA_DEFER_H
#define MGDS_CUDA_DEFER_H

#include <stdbool.h>

/* Lies in the object that is to be done away with: deferring cannot fail. */
struct mgds_deferred {
    struct mgds_deferred *next;
    void (*run)(struct mgds_deferred *item); /* may free the item */
};

/* Any thread, also with locks held; never blocks. run is set by the caller. */
void mgds_defer(struct mgds_deferred *item);

/* Whether there is anything: one load. */
bool mgds_defer_pending(void);

/* Runs what is on the list, each item once, in their order; their number. A
 * safe point is where no wait of ours stands on any stream and no lock is held:
 * it may block until all that the program has queued on the device is done. */
unsigned mgds_defer_drain(void);

#endif
