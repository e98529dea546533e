/* The choice of a protocol; see select.h. */
#include "shim/gds/proto/select.h"

#include "shim/gds/proto/protocol.h"

static bool may_be_eager(const struct mgds_select_facts *facts)
{
    return facts->slots && facts->bytes <= facts->eager_most;
}

/* Nobody would copy what a stream sends to itself and stands at. */
static bool may_be_rget(const struct mgds_select_facts *facts)
{
    return facts->slots && facts->words && !facts->stands_for_itself &&
           facts->rget_least > 0 && facts->bytes >= facts->rget_least;
}

unsigned mgds_select(const struct mgds_select_facts *facts)
{
    unsigned set = 1u << MGDS_PROTOCOL_FRAGMENTS;

    if (!facts->fits || facts->sync)
        return set;
    if (may_be_eager(facts))
        set |= 1u << MGDS_PROTOCOL_EAGER;
    if (may_be_rget(facts))
        set |= 1u << MGDS_PROTOCOL_RGET;
    return set;
}
