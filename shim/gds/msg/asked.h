/*
 * Fences that are asked about (stream/events.h): those of receives alone whose
 * messages come by a channel, so that the stream itself takes them. They cost
 * the stream nothing, but the CPU has to ask: host calls do each time, the
 * worker when none has come by. A fence that is stored and comes later covers
 * them, and mostly does. So does a kernel that says where it stands (stand.h):
 * the worker may sit in a call that the driver keeps until the stream goes on.
 *
 *   last   writer: who puts such a fence, under the engine's lock
 *   seen   writer: whoever has asked; it only grows. Asked fences with numbers
 *          up to it were reached: all that was put ahead of them is done, and
 *          its data visible.
 */
#ifndef MGDS_MSG_ASKED_H
#define MGDS_MSG_ASKED_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/msg/work.h"

struct mgds_timeline;

/* Of a timeline. */
struct mgds_asked {
    uint64_t last, seen;   /* atomic; 0: none */
    struct mgds_work work; /* under the engine's lock */
};

/* Registers the handler, before the wire is opened. */
void mgds_asked_init(void);

/* The timeline's fence of that number is one. Under the engine's lock. */
void mgds_asked_add(struct mgds_timeline *timeline, uint64_t number);

/* Whether fences from that number on may be such. */
static inline bool mgds_asked_any(const struct mgds_asked *asked, uint64_t from)
{
    return __atomic_load_n(&asked->last, __ATOMIC_RELAXED) >= from;
}

/* Whether the fence of that number is known to be reached. */
static inline bool mgds_asked_is_seen(const struct mgds_asked *asked,
                                      uint64_t number)
{
    return __atomic_load_n(&asked->seen, __ATOMIC_ACQUIRE) >= number;
}

/* The stream has come to all that was put up to the fence of that number. Any
 * thread. */
void mgds_asked_see(struct mgds_asked *asked, uint64_t number);

/* Asks for those of all timelines that are not known to be reached: calls of
 * the driver's, which do not block. Any thread, without the engine's lock. */
void mgds_timelines_ask(void);

#endif
