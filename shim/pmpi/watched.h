/*
 * Calls of the program's that wait in our own bodies, for the watchdog
 * (gds/comm/watch.h): between begin and end what they ask for is watched.
 * What waits in the MPI below is not.
 */
#ifndef MGDS_PMPI_WATCHED_H
#define MGDS_PMPI_WATCHED_H

#include "shim/gds/comm/watch.h"
#include "shim/pmpi/frame.h"

/* name: of a call that has no frame. */
static inline void mgds_watched_begin(const char *name)
{
    mgds_watch_call(mgds_inside.stack ? mgds_call_rows[mgds_inside.call].name
                                      : name);
}

static inline void mgds_watched_end(void)
{
    mgds_watch_call(NULL);
}

#endif
