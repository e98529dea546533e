/*
 * A channel: the way from one stream of this process to one of a member, where
 * kernels reach the member's memory. It has a ring there (far_rings.h) once
 * messages need one, shares done words with others of its pair (dones.h), and
 * has what the two ends know of each other's memory (mapping.h). Between hosts
 * it has a far way (far.h) instead: its one ring is the mirror of that, as long
 * as the channel is there, and there are no pair and no done words.
 *
 *   written by        what                          read by
 *   the sender's      units of a slot that it has   the receiver's stream,
 *   stream            (data and serial at once)     until the serial is there
 *   who copies a      the done word, in memory of   the sender's stream (AWAIT)
 *   long message      its sender
 *
 * A message takes a slot when it is called (proto/place.h), and gives it back
 * when its receiver says that it was taken, or took it otherwise. Without a
 * slot it is staged as every message can be: nothing depends on one. A call
 * waits for a slot a little, since staging is slow, and a caller who is far
 * ahead of its stream has time.
 *
 * The ring starts small. One that has not room for many of the messages that
 * come, or is full, is to be followed by a larger one: messages that are called
 * from then on go to that, those that are in the old one are taken from there.
 * A slot says which ring it is in, so the two need no order but that of the
 * messages' numbers.
 *
 * All functions but those that say so are called under the engine's lock.
 */
#ifndef MGDS_TRANSPORT_CHANNEL_H
#define MGDS_TRANSPORT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/transport/transport.h"

struct mgds_far;
struct mgds_far_ring;
struct mgds_mappings;
struct mgds_ring_pair;

/* A part of a ring, as long as its message. */
struct mgds_slot {
    void *address;  /* as mapped here */
    uint32_t units; /* from the ring's beginning */
    uint64_t serial;
    struct mgds_far_ring *ring;
};

/* Between the contexts of the pair, which is the channel's from then on.
 * Without the lock. -ENOMEM. */
int mgds_channel_create(struct mgds_channel **out,
                        const struct mgds_transport *transport,
                        struct mgds_ring_pair *pair);
/* By a far way, which is the channel's from then on. Without the lock. -ENOMEM.
 */
int mgds_channel_create_far(struct mgds_channel **out,
                            const struct mgds_transport *transport,
                            struct mgds_far *far);
/* NULL is allowed. Without the lock; nobody has it any more. */
void mgds_channel_destroy(struct mgds_channel *channel);

/* Constant, any thread. */
const struct mgds_transport *
mgds_channel_transport(const struct mgds_channel *channel);
/* Why the member's memory turned out not to be of use: negative errno; 0: it
 * is, as far as is known. Any thread. */
int mgds_channel_error(const struct mgds_channel *channel);
/* Constant, any thread. NULL: it is far. */
struct mgds_ring_pair *mgds_channel_pair(const struct mgds_channel *channel);
/* Constant, any thread. NULL: kernels reach the ring. */
struct mgds_far *mgds_channel_far(const struct mgds_channel *channel);
/* NULL: may long messages take it? Constant, any thread. */
bool mgds_channel_can_get(const struct mgds_channel *channel);
/* It may have slots; else never again. */
bool mgds_channel_is_open(const struct mgds_channel *channel);

/* Not of one that is far. Takes over why its pair's ring will never come, if
 * so. */
void mgds_channel_judge(struct mgds_channel *channel);

/* Likewise. Asks for what its pair needs, a ring and done words. Is any of it
 * coming, and was asked for so many ns ago at most? */
bool mgds_channel_open(struct mgds_channel *channel, uint64_t ns);

/* A slot for so many bytes. False: none is free. */
bool mgds_channel_take_slot(struct mgds_channel *channel, size_t bytes,
                            struct mgds_slot *slot);
void mgds_channel_give_slot(struct mgds_channel *channel,
                            const struct mgds_slot *slot);
/* By which its receiver knows the ring; 0: that of the far way. */
uint32_t mgds_channel_ring_number(const struct mgds_slot *slot);

/* There is none. Is there room now, or, for who is patient: is a ring, or a
 * larger one, coming? It is asked for, if that was not done. */
bool mgds_channel_is_coming(struct mgds_channel *channel, size_t bytes,
                            bool patient);
/* Has it a ring, and done words that the other end has mapped? */
bool mgds_channel_may_get(const struct mgds_channel *channel);
/* The same of these. */
bool mgds_channel_words_are_coming(struct mgds_channel *channel, bool patient);
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
/* Where the sender's stream waits for such a word. */
uint64_t *mgds_channel_done_here(const struct mgds_channel *channel,
                                 uint32_t done);

/* What this end has told the other of its memory, and was told. */
struct mgds_mappings *mgds_channel_ours(struct mgds_channel *channel);
struct mgds_mappings *mgds_channel_theirs(struct mgds_channel *channel);

/* What a message of so many bytes needs. */
size_t mgds_channel_units_of(size_t bytes);

#endif
