/*
 * A channel: the way from one stream of this process to one of a member, where
 * kernels reach the member's ring (proto/ring.h). It has the region of that
 * ring that is for this stream, mapped here, and the book of its slots; the
 * words by which long messages are said to be copied; and what the two ends
 * know of each other's memory (mapping.h).
 *
 *   written by        what                          read by
 *   the sender's      units of a slot that it has   the receiver's stream,
 *   stream            (data and serial at once)     until the serial is there
 *   who copies a      the done word, in the ring    the sender's stream (AWAIT)
 *   long message      of its sender
 *
 * A message takes a slot when it is called (proto/place.h), and gives it back
 * when its receiver says that it was taken, or took it otherwise. Without a
 * slot it is staged as every message can be: nothing depends on one. A call
 * waits for a slot a little, since staging is slow, and a caller who is far
 * ahead of its stream has time.
 *
 * All functions but those that say so are called under the engine's lock.
 */
#ifndef MGDS_TRANSPORT_CHANNEL_H
#define MGDS_TRANSPORT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/transport/transport.h"

struct mgds_context;
struct mgds_far;
struct mgds_mappings;
struct mgds_ring;
struct mgds_ring_handle;

/* A part of the region, as long as its message. */
struct mgds_slot {
    void *address;  /* as mapped here */
    uint32_t units; /* from the region's beginning */
    uint64_t serial;
};

/* Opens one to the region of the ring that the handle tells of. Without a lock:
 * makes driver calls that import. -ENOMEM, -EXDEV, -ENOTSUP, or what else the
 * driver says. */
int mgds_channel_create(struct mgds_channel **out,
                        const struct mgds_transport *transport,
                        struct mgds_context *ctx,
                        const struct mgds_ring_handle *handle, uint32_t region);
/* Opens one by a far way, with its mirror, which becomes the channel's. Of the
 * region there, how many units. -ENOMEM. */
int mgds_channel_create_far(struct mgds_channel **out,
                            const struct mgds_transport *transport,
                            struct mgds_far *far, uint32_t units);
/* The own ring, and the region of it that is for the member: long messages may
 * take the channel, if both rings have done words. Before it is used. */
void mgds_channel_pair(struct mgds_channel *channel,
                       const struct mgds_ring *ring, uint32_t region,
                       const struct mgds_ring_handle *there);
/* NULL is allowed. Without the lock; nobody has it any more. */
void mgds_channel_destroy(struct mgds_channel *channel);

/* Constant, any thread. */
const struct mgds_transport *
mgds_channel_transport(const struct mgds_channel *channel);
/* NULL: has it done words at both ends? Constant, any thread. */
bool mgds_channel_can_get(const struct mgds_channel *channel);
/* Constant, any thread; NULL: kernels reach the ring. */
struct mgds_far *mgds_channel_far(const struct mgds_channel *channel);
/* It may have slots; else never again. */
bool mgds_channel_is_open(const struct mgds_channel *channel);

/* A slot for so many bytes. False: none is free. */
bool mgds_channel_take_slot(struct mgds_channel *channel, size_t bytes,
                            struct mgds_slot *slot);
void mgds_channel_give_slot(struct mgds_channel *channel,
                            const struct mgds_slot *slot);

/* There is none, but one may come back soon: not so once somebody waited in
 * vain and said so, until one is given back; unless the message has no other
 * way (direct). */
bool mgds_channel_is_full(const struct mgds_channel *channel, size_t bytes,
                          bool direct);
/* The same of done words. */
bool mgds_channel_is_spent(const struct mgds_channel *channel);
/* Messages that have a slot. */
uint64_t mgds_channel_out(const struct mgds_channel *channel);
void mgds_channel_despair(struct mgds_channel *channel);

/* For a message that its receiver copies: a slot of one unit, which says that
 * it may be copied, and a done word. False: none is left. Both are given back
 * by themselves. */
bool mgds_channel_reserve(struct mgds_channel *channel, struct mgds_slot *slot,
                          uint32_t *done);
void mgds_channel_give_done(struct mgds_channel *channel, uint32_t done);

/* Where such a word is: for who waits for it, for who copies; NULL: there is no
 * such word. */
uint64_t *mgds_channel_done_here(const struct mgds_channel *channel,
                                 uint32_t done);
uint64_t *mgds_channel_done_there(const struct mgds_channel *channel,
                                  uint32_t done);

/* What this end has told the other of its memory, and was told. */
struct mgds_mappings *mgds_channel_ours(struct mgds_channel *channel);
struct mgds_mappings *mgds_channel_theirs(struct mgds_channel *channel);

/* Units of a region that are for slots, not for done words. */
uint32_t mgds_channel_slot_units(uint32_t units);
/* What a message of so many bytes needs. */
size_t mgds_channel_units_of(size_t bytes);

#endif
