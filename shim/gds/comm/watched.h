/* What host calls wait for, as the watchdog (watch.h) and the dump (dump.h)
 * know it. Under the engine's lock. */
#ifndef MGDS_COMM_WATCHED_H
#define MGDS_COMM_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"

/* Of an operation or probe: what it was told of, and the host call that asks
 * for it. */
struct mgds_watched {
    const char *call; /* constant text; NULL: none has waited for it */
    uint64_t id;      /* of that call */
    uint64_t since;   /* when it was asked for first, ns; 0: not long ago */
    uint64_t seen;    /* and a short time ago */
    unsigned asks;
    unsigned told; /* lines */
};

/* Somebody has asked for it in the last second. */
bool mgds_watched_is_asked(const struct mgds_watched *watched);

/* The probes that host calls wait in; more than these are not watched. */
struct mgds_watched_probe {
    struct mgds_watched watched;
    const struct mgds_comm *comm; /* NULL: it is none */
    struct mgds_probe probe;
};
enum { MGDS_WATCH_PROBES = 8 };
extern struct mgds_watched_probe mgds_watched_probes[MGDS_WATCH_PROBES];

/* The communicator goes. */
void mgds_watched_forget(const struct mgds_comm *comm);

#endif
