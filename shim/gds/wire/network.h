/* The network worker: a UCX context and what belongs to it. All under the WIRE
 * lock. Only the wire's files include this, and call UCX. */
#ifndef MGDS_GDS_WIRE_NETWORK_H
#define MGDS_GDS_WIRE_NETWORK_H

#include <stdbool.h>

#include "shim/gds/wire/ucx.h"

/* Written by network.c, read by whoever calls UCX. */
struct mgds_net {
    const struct mgds_ucx *ucx;
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: no network */
    int event;           /* the worker's descriptor, or -1 */
};

extern struct mgds_net mgds_net;

/* A UCX worker, if there is none; self (state.h) says so then. 0 or -errno,
 * with a line. */
int mgds_net_open(void);

/* Gives back whatever there is of it. */
void mgds_net_close(void);

/* What has come, and what was sent: calls of UCX's progress that found
 * something. MGDS_NET_ROUND: there may be more. */
enum { MGDS_NET_ROUND = 16 };
int mgds_net_round(void);

/* Before a sleep on the worker's descriptor. 0; -EBUSY: UCX has events that
 * nobody has looked at; another negative errno, with a line: it cannot be slept
 * on. */
int mgds_net_arm(void);

#endif
