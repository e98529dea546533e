/*
 * GPU memory of one end of a lane that the other end has mapped: told (EXPORT)
 * before the first message from it, mapped in a host call of the other program,
 * or by the launcher if none comes by (launcher.h), who then says so
 * (IMPORTED). Until then messages are staged: none depends on a mapping. Memory
 * that is gone is told as well, and let go.
 *
 * All but init, map, chore and fini are called under the engine's lock.
 */
#ifndef MGDS_DOMAIN_MEMORY_H
#define MGDS_DOMAIN_MEMORY_H

#include <stdbool.h>

#include "shim/gds/domain/envelope.h"

struct mgds_domain;
struct mgds_lane;
struct mgds_xfer;

/* Has the other end mapped it? Else it is told, once, or again after a while if
 * it could not be mapped just then. SOON: it was told just now, and is mapped
 * when the other program makes a call: worth to wait a little, since staging so
 * many bytes takes longer. */
enum mgds_memory {
    MGDS_MEMORY_REFUSED,
    MGDS_MEMORY_TOLD,
    MGDS_MEMORY_SOON,
    MGDS_MEMORY_KNOWN
};
enum mgds_memory mgds_memory_look(struct mgds_domain *domain,
                                  struct mgds_lane *lane,
                                  const struct mgds_xfer *xfer, size_t bytes,
                                  const struct mgds_export_handle *handle);

/* Registers the handlers, before the wire is opened. */
void mgds_memory_init(void);

/* Maps what was told: in a host call, or by the launcher, without a lock. Costs
 * a load if there is nothing. */
void mgds_memory_map(void);
bool mgds_memory_to_map(void); /* whether there is anything */
/* For the wire's thread: has mapped what is late. */
void mgds_memory_chore(void);

/* What was told and not mapped is forgotten; mappings are closed. */
void mgds_memory_fini(void);

#endif
