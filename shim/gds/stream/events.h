/*
 * Events in a stream of the program's, each with the value of the FLAG that it
 * stands for. An event costs the stream nothing. A memory operation that stores
 * the FLAG's word holds the stream up for 3 us, since it makes all that is
 * ahead of it visible to the system (results/2026-11-26-marks).
 *
 *   value    writer: the thread that has the stream's launch lock, after it has
 *            recorded the event: who acquires the value asks about that record,
 *            or a later one, which comes later. 0: never recorded.
 *
 *   come     writer: the same thread: the stream has come to it, as the event
 *            said that stood for it. Whoever acquires it finds what is ahead of
 *            the value done.
 *
 * An event is used again when its value is known to have come; one more is made
 * when none has, since a caller may be many calls ahead of its stream. The
 * driver answers at any time: also while another thread sits in cuMemFree
 * behind the stream (the same results), where it makes and records none.
 */
#ifndef MGDS_STREAM_EVENTS_H
#define MGDS_STREAM_EVENTS_H

#include <stdint.h>

#include "shim/gds/cuda/event.h"

enum { MGDS_EVENTS = 128 };

struct mgds_events {
    struct mgds_event event[MGDS_EVENTS];
    uint64_t value[MGDS_EVENTS]; /* atomic */
    unsigned made; /* atomic: so many there are; grows under the launch lock */
    uint64_t come; /* atomic */
    unsigned next; /* under the launch lock */
};

void mgds_events_fini(struct mgds_events *events);

/* The stream, which is of the context, has come to the value when it has done
 * all that is queued there. past: values up to it are known to have come.
 * -EAGAIN: all events stand for values that have not. */
int mgds_events_record(struct mgds_events *events, struct mgds_context *ctx,
                       void *stream, uint64_t value, uint64_t past);

/* The greatest value, from that one on, to which the stream has come; 0: none
 * that is known. Any thread; a few queries. It may be more than is told, which
 * is told the next time. */
uint64_t mgds_events_come(struct mgds_events *events, uint64_t from);

#endif
