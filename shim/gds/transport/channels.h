/*
 * The channels of a member of a stream communicator: one from each of its
 * streams to each stream of another member that kernels reach, itself included.
 * Made in the collective call that makes the communicator (connect.c;
 * connect_far.c between hosts), and shared by its duplicates. What a channel
 * needs of GPU memory comes in that call (offer.h), and with messages
 * (channel.h).
 *
 * There are none wherever something is missing: a GPU stream, kernels, the same
 * host, peer access, a GPU of one's own; nor where memory turned out not to be
 * mapped.
 *
 * All functions: any thread; what they look at is constant once the
 * communicator is made, but that a channel turns out to be of no use. channels
 * may be NULL: then there is nothing.
 */
#ifndef MGDS_TRANSPORT_CHANNELS_H
#define MGDS_TRANSPORT_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mgds_channel;
struct mgds_channels;
struct mgds_hindrance;

/* From the own stream of that index to the stream `to` of the members, counted
 * through all of them; NULL: there is none. A member without GPU streams has
 * index 0, too, and no channel. */
struct mgds_channel *mgds_channels_find(const struct mgds_channels *channels,
                                        unsigned index, unsigned to);

/* Why there is none. */
const struct mgds_hindrance *
mgds_channels_why(const struct mgds_channels *channels, unsigned index,
                  unsigned to);

/* Can a stream take messages that come for this index? */
bool mgds_channels_can_take(const struct mgds_channels *channels,
                            unsigned index);

/* The address of a place in the ring of the far way to the source, that begins
 * at that unit, and has so many; 0: there is no such place. */
uint64_t mgds_channels_far_place(const struct mgds_channels *channels,
                                 unsigned index, unsigned source,
                                 uint32_t units, size_t count);

/* Has a communicator been freed, or have the channels of one gone, since it was
 * noted that they have not? Messages keep channels longer than that. Atomic. */
bool mgds_channels_any_freed(void);
void mgds_channels_note_freed(bool freed);

/* Has another process a stream of that index's GPU, so that kernels must not
 * wait there? */
bool mgds_channels_share_gpu(const struct mgds_channels *channels,
                             unsigned index);

#endif
