/* Messages as records; see op.h. */
#include "shim/gds/domain/op.h"

struct mgds_spares mgds_message_spares =
    MGDS_SPARES_INIT(sizeof(struct mgds_message));

bool mgds_message_is(const struct mgds_message *message, int source,
                     unsigned to_index, uint64_t number)
{
    return message->match.source == source && message->to_index == to_index &&
           message->match.number == number;
}

void mgds_message_unlink(struct mgds_message *message)
{
    if (!message || !message->listed)
        return;
    LIST_REMOVE(message, pull_link);
    message->listed = false;
}

void mgds_message_drop(struct mgds_message *message)
{
    mgds_message_unlink(message);
    mgds_spares_give(&mgds_message_spares, message);
}
