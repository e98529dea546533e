/* Records of messages that are on their way; see flight.h. */
#include "shim/gds/wire/flight.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/wire/bell.h"
#include "shim/gds/wire/peer.h"
#include "shim/gds/wire/state.h"

static struct {
    _Alignas(MGDS_WIRE_LINE) struct mgds_wire_flights posts;
    struct mgds_wire_flights spare;
    struct mgds_wire_flights flying;
    atomic_bool posted; /* posts may hold some: set under leaf, behind them */
} flights = {
    .posts = TAILQ_HEAD_INITIALIZER(flights.posts),
    .spare = TAILQ_HEAD_INITIALIZER(flights.spare),
    .flying = TAILQ_HEAD_INITIALIZER(flights.flying),
};

struct mgds_wire_flight *mgds_flight_take(void)
{
    struct mgds_wire_flight *flight = TAILQ_FIRST(&flights.spare);

    if (flight)
        TAILQ_REMOVE(&flights.spare, flight, link);
    else
        flight = mgds_malloc(sizeof(*flight));
    if (flight)
        mgds_bell_message_begin();
    return flight;
}

void mgds_flight_post(struct mgds_wire_flight *flight)
{
    TAILQ_INSERT_TAIL(&flights.posts, flight, link);
    atomic_store(&flights.posted, true);
}

bool mgds_flights_take_posted(struct mgds_wire_flights *out)
{
    /* most rounds find none: they leave the lock to those who post */
    if (!atomic_load(&flights.posted))
        return false;
    mgds_lock_acquire(&mgds_wire.leaf);
    atomic_store(&flights.posted, false);
    TAILQ_CONCAT(out, &flights.posts, link);
    mgds_lock_release(&mgds_wire.leaf);
    return !TAILQ_EMPTY(out);
}

void mgds_flight_begin(struct mgds_wire_flight *flight)
{
    TAILQ_INSERT_TAIL(&flights.flying, flight, link);
}

void mgds_flight_end(struct mgds_wire_flight *flight, int rc)
{
    if (rc < 0 && flight->peer && mgds_wire_peer_error(flight->peer) < 0)
        rc = mgds_wire_peer_error(flight->peer);
    if (flight->done)
        flight->done(flight->arg, rc);
    mgds_lock_acquire(&mgds_wire.leaf);
    TAILQ_INSERT_HEAD(&flights.spare, flight, link);
    mgds_lock_release(&mgds_wire.leaf);
    mgds_bell_message_end();
}

void mgds_flight_land(struct mgds_wire_flight *flight, int rc)
{
    TAILQ_REMOVE(&flights.flying, flight, link);
    mgds_flight_end(flight, rc);
}

void mgds_flights_cancel(void)
{
    struct mgds_wire_flight *flight;

    mgds_flights_take_posted(&flights.flying);
    while ((flight = TAILQ_FIRST(&flights.flying)) != NULL)
        mgds_flight_land(flight, -ECANCELED);
}

void mgds_flights_free_spare(void)
{
    struct mgds_wire_flight *flight;

    mgds_lock_acquire(&mgds_wire.leaf);
    while ((flight = TAILQ_FIRST(&flights.spare)) != NULL) {
        TAILQ_REMOVE(&flights.spare, flight, link);
        free(flight);
    }
    mgds_lock_release(&mgds_wire.leaf);
}
