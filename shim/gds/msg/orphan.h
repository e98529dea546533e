/* Receives into GPU memory whose bytes a host call copies out; or a work item
 * (msg/work.h), if their requests were freed. */
#ifndef MGDS_MSG_ORPHAN_H
#define MGDS_MSG_ORPHAN_H

#include "shim/gds/comm/comm.h"

/* The copy up of what has arrived: 1 it is over, or there is none (yet); 0 it
 * is under way. An error is the operation's. By one thread at a time, without
 * the lock. */
int mgds_op_lift(struct mgds_op *op);

/* Registers the handler, before the wire is opened. */
void mgds_orphan_init(void);

/* How many of the latter have come and are to be copied out: of a stream or of
 * all (NULL), of a communicator or of all. */
unsigned mgds_orphans(const struct mgds_gstream *stream,
                      const struct mgds_comm *comm);

#endif
