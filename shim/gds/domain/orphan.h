/* Receives into GPU memory whose requests were freed: a host call copies their
 * bytes up. */
#ifndef MGDS_DOMAIN_ORPHAN_H
#define MGDS_DOMAIN_ORPHAN_H

#include "shim/gds/domain/domain.h"

/* The copy up of what has arrived: 1 it is over, or there is none (yet); 0 it
 * is under way. An error is the operation's. By one thread at a time, without
 * the lock. */
int mgds_op_lift(struct mgds_op *op);

/* Under the engine's lock: takes over a reference. */
void mgds_orphan_add(struct mgds_op *op);

/* How many there are, of a stream or of all (NULL), of a domain or of all. */
unsigned mgds_orphans(const struct mgds_gstream *stream,
                      const struct mgds_domain *domain);
/* A step of each, without the lock. */
void mgds_orphans_poll(void);
/* They are nobody's any more. Under the lock. */
void mgds_orphans_forget(void);

#endif
