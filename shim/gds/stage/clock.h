/*
 * How far a stream of ours has come, told from few questions: many copies are
 * under way at a time, and a question to the driver costs as much as a copy
 * takes to be queued.
 *
 *   ticket  the number of a copy, in the order in which they were queued
 *   mark    an event behind all copies up to a ticket; a few are in use at a
 *           time, made with the clock
 *   done    the last ticket known to be over, and so all before it
 *
 * Copies of one stream end in order, so the oldest mark alone is asked for (for
 * a lone copy the stream itself: a mark costs a call, and the GPU a step), and
 * what it says is told to all: that it is over, to every ticket up to its own;
 * that it is not yet, to each who asks, once, then it is asked for again.
 *
 * Concurrency. Any thread; marks and tickets are under the clock's lock (LEAF),
 * never held across a driver call. An event that is recorded again stands for
 * a later ticket, so an answer that comes late is true of the earlier one.
 */
#ifndef MGDS_STAGE_CLOCK_H
#define MGDS_STAGE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/lock.h"
#include "shim/gds/cuda/event.h"

enum { MGDS_CLOCK_MARKS = 4 };

struct mgds_clock_mark {
    struct mgds_event event;
    uint64_t ticket; /* in use if not yet done */
    bool recording;  /* by some thread: not to be asked for */
};

struct mgds_clock {
    struct mgds_context *ctx; /* the stage's */
    void *stream;
    uint64_t done; /* atomic */
    uint64_t news; /* atomic: the number of the last answer while it is "not
                      yet", else 0 */
    struct mgds_lock lock;
    /* under lock */
    uint64_t queued;
    uint64_t asks; /* answers so far */
    struct mgds_clock_mark mark[MGDS_CLOCK_MARKS];
};

/* For a stream of that context. Makes events in the driver. -ENOMEM,
 * -ESHUTDOWN or what else the driver says. */
int mgds_clock_init(struct mgds_clock *clock, struct mgds_context *ctx,
                    void *stream);
void mgds_clock_fini(struct mgds_clock *clock);

/* A copy was queued: its ticket, never 0. */
uint64_t mgds_clock_ticket(struct mgds_clock *clock);

/* Puts a mark behind all that is queued, unless there is one or all are in use:
 * then a later poll does it. 0 or negative errno. For more copies than one;
 * inside of mgds_capture_ignore. */
int mgds_clock_mark(struct mgds_clock *clock);

/* 1 if the ticket is over, 0 if not yet, or the error of the work. told, if not
 * NULL, is the asker's own: the last answer it was told, 0 at first. Without,
 * the driver is always asked. */
int mgds_clock_poll(struct mgds_clock *clock, uint64_t ticket, uint64_t *told);

/* The same, anew, for one who asks again at once: inside of
 * mgds_capture_ignore, and the context was found alive. */
int mgds_clock_glance(struct mgds_clock *clock, uint64_t ticket);

/* Sleeps until the ticket is over: 0, or the error of the work. The context
 * was found alive. */
int mgds_clock_sleep(struct mgds_clock *clock, uint64_t ticket);

#endif
