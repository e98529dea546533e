/*
 * Orders: messages that a kernel which stands on the program's stream copies
 * beside what it waits for (device/abi.h). For when no launch comes through, as
 * while the program sits in a call of the driver that waits for that stream.
 *
 *   word     written by                                 what is visible before
 *   record   the CPU, while no order is given           no order was
 *   order    the CPU: a number, the next one's, or 0    the record
 *   claim    who copies: take, fetch, or order          over: the buffer, GPU
 *   busy     who looks at an order, while it does     `served` of the last
 *   served   the kernel that has copied: the number     the buffer, system
 *
 * All that the stream may stand in is a kernel that looks here, while it has
 * claims: its waits for the CPU, too, which are memory operations else.
 *
 * One at a time for a stream. Whether a kernel has looked at one is not known
 * and need not be: when its message was copied, by whomever, the claim has its
 * generation or a later one, and an order that is looked at then does nothing.
 * One whose message nobody has copied must stay as it is.
 *
 * The caller lets one thread at a time in. No driver call.
 */
#ifndef MGDS_STREAM_ORDER_H
#define MGDS_STREAM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi.h"
#include "shim/gds/stream/syncwords.h"

struct mgds_command;

struct mgds_orders {
    struct mgds_desk *desk;    /* a line of words */
    struct mgds_order *record; /* another one */
    uint64_t last;             /* number given out */
};

/* desk: the stream's. May pin memory. -ENOMEM, -ESHUTDOWN. */
int mgds_orders_init(struct mgds_orders *orders, struct mgds_syncwords *words,
                     uint64_t *desk);
/* The stream's, in GPU memory: before any order. */
void mgds_orders_cell(struct mgds_orders *orders, const struct mgds_cell *cell);
void mgds_orders_fini(struct mgds_orders *orders, struct mgds_syncwords *words);

/* The number of the order, which is given; 0: another one still is. take: a
 * long one with a claim, as of a fetch. */
uint64_t mgds_orders_give(struct mgds_orders *orders,
                          const struct mgds_command *take);

/* Its message was copied, by whomever. */
void mgds_orders_take_back(struct mgds_orders *orders);

/* Has a kernel copied it for the order? Then the data is there. Any thread. */
bool mgds_orders_served(const struct mgds_orders *orders, uint64_t number);

#endif
