/* Whether a message goes by header. */
#include "shim/pmpi/direct_choice.h"

#include "shim/gds/direct/header.h"

enum mgds_direct_choice
mgds_direct_choose(const struct mgds_direct_message *message,
                   enum mgds_direct_peer peer, size_t from)
{
    if (from == 0 || message->bytes < from ||
        message->bytes < MGDS_HEADER_BYTES || !message->exportable ||
        !message->dense || peer == MGDS_DIRECT_PEER_FAR)
        return MGDS_DIRECT_STAGE;
    return peer == MGDS_DIRECT_PEER_PROVEN ? MGDS_DIRECT_HEADER
                                           : MGDS_DIRECT_SAMPLE;
}
