/*
 * Messages on their way out, and bodies on their way in. A record is in one
 * list at a time:
 *
 *   post      spare -take-> -post-> posts -take_posted-> -begin-> flying
 * -land-> spare arrival   spare -take-> -begin-> flying -land-> spare
 *
 * posts and spare are under the leaf lock, flying is under the WIRE lock. Only
 * the wire's files include this.
 */
#ifndef MGDS_GDS_WIRE_FLIGHT_H
#define MGDS_GDS_WIRE_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "shim/gds/wire/frame.h"
#include "shim/gds/wire/wire.h"

/* Of an arrival peer is NULL and there is no frame. */
struct mgds_wire_flight {
    TAILQ_ENTRY(mgds_wire_flight) link; /* in posts, flying or spare */
    TAILQ_ENTRY(mgds_wire_flight) turn; /* near.c's, while flying */
    struct mgds_wire_peer *peer;
    const void *body;
    size_t body_bytes;
    mgds_wire_done *done; /* or the handler's body */
    void *arg;
    size_t frame_bytes;
    struct mgds_wire_frame frame;
};
TAILQ_HEAD(mgds_wire_flights, mgds_wire_flight);

/* A record in no list, leaf lock held; NULL: no memory. */
struct mgds_wire_flight *mgds_flight_take(void);

/* Filled in, and behind those that wait to be sent. Leaf lock held. */
void mgds_flight_post(struct mgds_wire_flight *flight);

/* All that wait to be sent, in their order, at the end of *out. False: none;
 * that takes no lock. */
bool mgds_flights_take_posted(struct mgds_wire_flights *out);

/* From now on it is flying. WIRE held. */
void mgds_flight_begin(struct mgds_wire_flight *flight);

/* Tells the outcome. WIRE held; the flight is in no list. */
void mgds_flight_end(struct mgds_wire_flight *flight, int rc);

/* The same of one that is flying. */
void mgds_flight_land(struct mgds_wire_flight *flight, int rc);

/* Ends all that nobody will end any more, posts too; WIRE held. */
void mgds_flights_cancel(void);

/* Frees the spare records: nothing is open. */
void mgds_flights_free_spare(void);

#endif
