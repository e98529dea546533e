/*
 * The list of timelines, for timeline.c, and how one ends: when nobody has its
 * stream any more and the stream is known to have passed all that was put on
 * it. Then nothing touches its words again, nor its memory on the GPU.
 *
 *   listed  put in by mgds_timelines_add
 *   alone   the timeline has the stream's last reference (gstream.h): the
 *           program has freed it, and no communicator or operation has it
 *   spent   alone, no fences or waits are left, no query stands: out of the
 *           list
 *   freed   nobody reads the list who began before that
 *
 * Written under the engine's lock, and read under it, or between begin and end,
 * at each poll of the wire's thread, which must not wait for who calls.
 */
#ifndef MGDS_MSG_TIMELINES_H
#define MGDS_MSG_TIMELINES_H

#include "shim/gds/msg/timeline.h"

/* Under the lock; chained by next. */
struct mgds_timeline *mgds_timelines_first(void);
void mgds_timelines_add(struct mgds_timeline *timeline);

/* Without it. What is read stays until end. */
struct mgds_timeline *mgds_timelines_begin_to_read(void);
struct mgds_timeline *
mgds_timelines_read_on(const struct mgds_timeline *timeline);
void mgds_timelines_end_to_read(void);

/* The timeline of a stream, or NULL. Who asks has the stream, so what is found
 * stays. With the lock or without. */
struct mgds_timeline *mgds_timelines_find(const struct mgds_gstream *stream);

/* For reap.c, under the lock. Takes out what is spent: true if some that are
 * alone stay. Then what was taken out is the caller's, chained by next_spent;
 * NULL and some: others read it still. */
bool mgds_timelines_take_out_spent(void);
struct mgds_timeline *mgds_timelines_take_spent(bool *some);

/* The stream cannot be saved: it is ruined soon (ruin.h). Under the lock. */
void mgds_timeline_doom(struct mgds_timeline *timeline, int error);

/* At the end: takes one out, or NULL. Nobody else is there. */
struct mgds_timeline *mgds_timelines_take_any(void);

/* timeline.c. Nobody has it, and its stream is done with it. Without the lock.
 */
void mgds_timeline_destroy(struct mgds_timeline *timeline);

#endif
