/*
 * Where short messages land: rings (ring/ring.h) in the memory of the
 * receivers' GPUs, one region for each source on the same host, made when a
 * stream communicator is, and shared by its duplicates.
 *
 *   landing   what one member has: its own rings, by stream index, and the
 *             lanes to those of others
 *   lane      the way from one of its streams to one of another member's: the
 *             other's region, mapped here, and who has which place there
 *
 * A message takes place in the region when it is called (place.h), and gives
 * it back when its receiver says that it was taken, or took it otherwise. Where
 * there is no lane, or no room, it is staged as every message can be: nothing
 * depends on a place. A call waits for room a little, since staging is slow,
 * and a caller who is far ahead of its stream has time.
 *
 *   written by        what                           read by
 *   the sender's      units of a place that it has   the receiver's stream,
 *   stream            (data and serial at once)      until the serial is there
 *
 * Handles are exchanged by the caller (tell, hear), in the collective call that
 * makes the communicator. Rings are NULL, and lanes none, wherever something is
 * missing: a GPU stream, kernels, the same host, peer access, a GPU of one's
 * own.
 *
 * Concurrency: tell and hear before the landing is used; place and give under
 * the engine's lock; the rest is constant. Counted.
 */
#ifndef MGDS_DOMAIN_LANDING_H
#define MGDS_DOMAIN_LANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/domain/domain.h"

struct mgds_lane;

struct mgds_landing_place {
    void *address;  /* in the sender's mapping */
    uint32_t units; /* from the region's beginning */
    uint64_t serial;
};

/* Can a stream take messages that come for this index? */
bool mgds_landing_takes(const struct mgds_landing *landing, unsigned index);

/* Has another process a stream of that index's GPU, so that kernels must not
 * wait there? landing may be NULL. */
bool mgds_landing_is_shared(const struct mgds_landing *landing, unsigned index);

/* A place for a message of so many bytes from an own stream to a source of the
 * communicator, between which there is a lane: that; NULL: there is no room. */
struct mgds_lane *mgds_landing_place(const struct mgds_landing *landing,
                                     unsigned index, unsigned to, size_t bytes,
                                     struct mgds_landing_place *place);
void mgds_landing_give(struct mgds_lane *lane,
                       const struct mgds_landing_place *place);

/* There was no place, but room may be made soon: not so once
 * somebody waited in vain and said so, until a place is given back; unless the
 * message has no other way (direct). */
bool mgds_landing_is_full(const struct mgds_landing *landing, unsigned index,
                          unsigned to, size_t bytes, bool direct);
void mgds_landing_despair(const struct mgds_landing *landing, unsigned index,
                          unsigned to);

/*
 * Messages that their receivers copy (rget.h): their place has one unit, which
 * says that the message may be copied; that it was is said in a word at the end
 * of the region for messages the other way, in the sender's GPU.
 */
struct mgds_mappings;

/* The lane, or NULL. landing may be NULL; a member without GPU streams has
 * index 0, too, and no lane. */
struct mgds_lane *mgds_landing_lane(const struct mgds_landing *landing,
                                    unsigned index, unsigned to);

/* Why there is none. */
const struct mgds_hindrance *
mgds_landing_why(const struct mgds_landing *landing, unsigned index,
                 unsigned to);

/* Are there such words on both ends? NULL: no. Is the other end of the same
 * process? */
bool mgds_lane_pulls(const struct mgds_lane *lane);
bool mgds_lane_is_own(const struct mgds_lane *lane);

/* A place, and a word: its unit in the own region. False: none is left. Both
 * are given back by themselves. */
bool mgds_lane_reserve(struct mgds_lane *lane, struct mgds_landing_place *place,
                       uint32_t *done);
void mgds_lane_give_done(struct mgds_lane *lane, uint32_t done);

/* Where such a word is: for who waits for it, for who copies. */
uint64_t *mgds_lane_done_here(const struct mgds_lane *lane, uint32_t done);
uint64_t *mgds_lane_done_there(const struct mgds_lane *lane, uint32_t done);

/* What this end has told the other, and was told (mapping.h). */
struct mgds_mappings *mgds_lane_ours(struct mgds_lane *lane);
struct mgds_mappings *mgds_lane_theirs(struct mgds_lane *lane);

/* Is a place for so many bytes, as its sender tells it, in the region of the
 * own ring that is for the source? landing may be NULL: no. */
bool mgds_landing_holds(const struct mgds_landing *landing, unsigned index,
                        unsigned source, uint32_t units, size_t bytes);

/* The address of units in the own ring of this index. They are there
 * (mgds_landing_holds). */
uint64_t mgds_landing_units(const struct mgds_landing *landing, unsigned index,
                            unsigned source, uint32_t units);

#endif
