/*
 * GPU memory of one end of a channel that the other end has mapped: told
 * (EXPORT) before the first message from it, mapped in a call of the other
 * program, or by the worker if none comes by (msg/work.h), and answered
 * (IMPORTED). Until then messages are staged: none depends on a mapping. Memory
 * that is gone is told as well, and let go.
 *
 * All but init and fini are called under the engine's lock.
 */
#ifndef MGDS_PROTO_MEMORY_H
#define MGDS_PROTO_MEMORY_H

#include "shim/gds/transport/transport.h"

struct mgds_exposing;

/* Has the other end mapped it? Else it is told, once, or again after a while if
 * it could not be mapped just then. Of the transport p2p (transport.h). */
enum mgds_exposure mgds_memory_expose(const struct mgds_exposing *exposing);

/* Registers the handlers, before the wire is opened. */
void mgds_memory_init(void);

/* Mappings are closed. */
void mgds_memory_fini(void);

#endif
