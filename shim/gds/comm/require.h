/*
 * MPIX_GDS_REQUIRE: which transports enqueued messages in GPU memory may take.
 *
 *   self   rings, or a copy by the receiver, within one process
 *   p2p    the same between two processes of a host
 *   host   staged in host memory, and by the network to another host
 *
 * Where host is left out a call waits longer for what the direct ways need, and
 * is refused if they are not to be had. Messages in host memory have no other
 * way, and those of ordinary calls are staged: neither is concerned.
 */
#ifndef MGDS_COMM_REQUIRE_H
#define MGDS_COMM_REQUIRE_H

#include <stdbool.h>

struct mgds_op;
struct mgds_xfer;

/* Must it go GPU to GPU? Any thread. */
bool mgds_require_direct(const struct mgds_op *op,
                         const struct mgds_xfer *xfer);

/* May it not be called as it is now, with its place or without? What it would
 * take and why is then told by mgds_require_reason. Under the engine's lock. */
bool mgds_require_refuses(const struct mgds_op *op,
                          const struct mgds_xfer *xfer);

/* A send in GPU memory that was to go directly can only be staged: may it not?
 * Any thread. */
bool mgds_require_forbids_host(const struct mgds_op *op);

#endif
