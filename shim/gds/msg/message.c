/* Messages as records; see op.h. */
#include "shim/base/container.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/transport/own_rings.h"

struct mgds_spares mgds_message_spares =
    MGDS_SPARES_INIT(sizeof(struct mgds_message));

bool mgds_message_is(const struct mgds_message *message, int source,
                     unsigned to_index, uint64_t number)
{
    return message->match.source == source && message->to_index == to_index &&
           message->match.number == number;
}

/* Different for the first 2^32 messages of a source to a stream. */
static uint64_t key_of(int source, uint64_t number)
{
    return ((uint64_t)(uint32_t)source << 32) ^ number;
}

void mgds_message_link(struct mgds_message *message)
{
    mgds_fifos_append(&message->comm->pulls,
                      key_of(message->match.source, message->match.number),
                      &message->pull);
}

void mgds_message_unlink(struct mgds_message *message)
{
    if (!message)
        return;
    mgds_fifos_remove(&message->comm->pulls, &message->pull);
    mgds_own_rings_let_go(message->ring);
    message->ring = 0;
}

struct mgds_message *mgds_message_find(struct mgds_comm *comm, int source,
                                       unsigned to_index, uint64_t number)
{
    struct mgds_fifo_node *node =
        mgds_fifos_first(&comm->pulls, key_of(source, number));

    for (; node; node = node->next) {
        struct mgds_message *message =
            MGDS_CONTAINER_OF(node, struct mgds_message, pull);

        if (mgds_message_is(message, source, to_index, number))
            return message;
    }
    return NULL;
}

struct mgds_op *mgds_message_recv(const struct mgds_comm *comm, int source,
                                  unsigned to_index, uint64_t number)
{
    struct mgds_op *op;

    LIST_FOREACH(op, &comm->ops, link)
    {
        const struct mgds_message *message = mgds_op_message(op);

        if (message && mgds_message_is(message, source, to_index, number))
            break;
    }
    return op;
}

void mgds_message_drop(struct mgds_message *message)
{
    mgds_message_unlink(message);
    mgds_spares_give(&mgds_message_spares, message);
}
