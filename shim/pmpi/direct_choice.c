/* Whether a message goes by header. */
#include "shim/pmpi/direct_choice.h"

#include "shim/gds/direct/header.h"

/* Many times what begins a copy, and less than what a program notices that sits
 * elsewhere; and many times what a scheduler gives to others. */
#define ELSEWHERE_NS UINT64_C(1000000)
#define SERVING_NS UINT64_C(50000000)

static bool is_long(size_t bytes, enum mgds_direct_peer peer,
                    const struct mgds_direct_from *from)
{
    return from->any > 0 && bytes >= from->any && bytes >= MGDS_HEADER_BYTES &&
           (peer != MGDS_DIRECT_PEER_SHARES ||
            (from->shared > 0 && bytes >= from->shared));
}

enum mgds_direct_choice
mgds_direct_choose(const struct mgds_direct_message *message,
                   enum mgds_direct_peer peer,
                   const struct mgds_direct_from *from)
{
    if (!is_long(message->bytes, peer, from) || !message->exportable ||
        !message->dense || peer == MGDS_DIRECT_PEER_FAR)
        return MGDS_DIRECT_STAGE;
    return peer == MGDS_DIRECT_PEER_NEAR ? MGDS_DIRECT_SAMPLE
                                         : MGDS_DIRECT_HEADER;
}

bool mgds_direct_is_due(const struct mgds_direct_wait *wait, uint64_t now,
                        uint64_t serving)
{
    bool inside = serving & 1;

    if ((serving >> 1) - (wait->served >> 1) >= 2)
        return true;
    return now - wait->since >= (inside ? SERVING_NS : ELSEWHERE_NS);
}
