/*
 * Streams that cannot be saved: all that stands on such a one passes, and what
 * is under way there, and every later operation, ends with the error. One line
 * says so.
 */
#ifndef MGDS_MSG_RUIN_H
#define MGDS_MSG_RUIN_H

#include <stdbool.h>

#include "shim/gds/msg/work.h"

/* Of a timeline. Written under the engine's lock. */
struct mgds_ruin {
    struct mgds_work work; /* while it is doomed, and not ruined yet */
    int doomed; /* the error with which it is to be ruined, or 0: timelines.c's
                 */
    int ruined; /* the error with which all on it ends, for ever, or 0; atomic
                 */
};

/* Registers the handler that ruins streams that are doomed
 * (mgds_timeline_doom), before the wire is opened. */
void mgds_ruin_init(void);

/* Looks whether contexts of streams that do not move are still good; else the
 * streams are ruined. Without the lock, by a host call or the worker: a CUDA
 * call. And whether there is anything to look at now. */
void mgds_timelines_check(void);
bool mgds_timelines_to_check(void);

#endif
