/* Slots of messages in their receivers' rings (transport/channel.h): what the
 * protocols have in common that need one (protocol.h). Under the engine's lock.
 */
#ifndef MGDS_PROTO_SLOT_H
#define MGDS_PROTO_SLOT_H

#include <stdbool.h>
#include <stddef.h>

struct mgds_message;
struct mgds_op;
struct mgds_rts;
struct mgds_take_record;

/* Says where the slot is. */
void mgds_slot_describe(const struct mgds_op *op, struct mgds_rts *rts);
/* The message has a slot of so many bytes, if that is one of its sender's in
 * the own ring; else -EPROTO, and one line. */
int mgds_slot_accept(struct mgds_message *message, const struct mgds_rts *rts,
                     size_t bytes);
/* It was asked for, and may be copied where it is. */
void mgds_slot_answer(struct mgds_op *op);
/* Where the receive finds it. */
void mgds_slot_record(const struct mgds_op *op,
                      struct mgds_take_record *record);

#endif
