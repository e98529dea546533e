/* The table of protocols; see protocol.h. */
#include "shim/gds/proto/protocol.h"

#include <stddef.h>

static const struct mgds_protocol *const protocols[MGDS_PROTOCOLS] = {
    [MGDS_PROTOCOL_FRAGMENTS] = &mgds_fragments,
    [MGDS_PROTOCOL_EAGER] = &mgds_eager,
    [MGDS_PROTOCOL_RGET] = &mgds_rget,
};

const struct mgds_protocol *mgds_protocol_of(unsigned id)
{
    return id < MGDS_PROTOCOLS ? protocols[id] : NULL;
}
