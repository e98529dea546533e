/*
 * The channels of a member of a stream communicator: one from each of its
 * streams to each stream of another member that kernels reach, itself included;
 * and its own rings, one for each of its streams, with a region for each stream
 * of the members on its host. Made in the collective call that makes the
 * communicator (connect.c), and shared by its duplicates.
 *
 * Rings are NULL, and channels none, wherever something is missing: a GPU
 * stream, kernels, the same host, peer access, a GPU of one's own.
 *
 * All functions: any thread; what they look at is constant once the
 * communicator is made. channels may be NULL: then there is nothing.
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

/* Has another process a stream of that index's GPU, so that kernels must not
 * wait there? */
bool mgds_channels_share_gpu(const struct mgds_channels *channels,
                             unsigned index);

/* Is a slot for so many bytes, as its sender tells it, in the region of the own
 * ring that is for the source? */
bool mgds_channels_hold(const struct mgds_channels *channels, unsigned index,
                        unsigned source, uint32_t units, size_t bytes);

/* The address of units in the own ring of this index, which are there
 * (mgds_channels_hold). */
uint64_t mgds_channels_units(const struct mgds_channels *channels,
                             unsigned index, unsigned source, uint32_t units);

#endif
