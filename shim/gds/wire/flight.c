/* Records of messages that are on their way; see state.h. */
#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/wire/state.h"

struct mgds_wire_flight *mgds_flight_take(void)
{
    struct mgds_wire_flight *flight = TAILQ_FIRST(&mgds_wire.spare);

    if (flight)
        TAILQ_REMOVE(&mgds_wire.spare, flight, link);
    else
        flight = mgds_malloc(sizeof(*flight));
    if (flight)
        atomic_fetch_add(&mgds_wire.under_way, 1);
    return flight;
}

void mgds_flight_end(struct mgds_wire_flight *flight, int rc)
{
    if (rc < 0 && flight->peer && mgds_wire_peer_error(flight->peer) < 0)
        rc = mgds_wire_peer_error(flight->peer);
    if (flight->done)
        flight->done(flight->arg, rc);
    mgds_lock_acquire(&mgds_wire.leaf);
    TAILQ_INSERT_HEAD(&mgds_wire.spare, flight, link);
    mgds_lock_release(&mgds_wire.leaf);
    atomic_fetch_sub(&mgds_wire.under_way, 1);
}

void mgds_wire_land(struct mgds_wire_flight *flight, int rc)
{
    TAILQ_REMOVE(&mgds_wire.flights, flight, link);
    mgds_flight_end(flight, rc);
}

void mgds_wire_cancel_all(void)
{
    struct mgds_wire_flight *flight;

    mgds_lock_acquire(&mgds_wire.leaf);
    TAILQ_CONCAT(&mgds_wire.flights, &mgds_wire.posts, link);
    mgds_lock_release(&mgds_wire.leaf);
    while ((flight = TAILQ_FIRST(&mgds_wire.flights)) != NULL)
        mgds_wire_land(flight, -ECANCELED);
}

void mgds_wire_free_spare(void)
{
    struct mgds_wire_flight *flight;

    mgds_lock_acquire(&mgds_wire.leaf);
    while ((flight = TAILQ_FIRST(&mgds_wire.spare)) != NULL) {
        TAILQ_REMOVE(&mgds_wire.spare, flight, link);
        free(flight);
    }
    mgds_lock_release(&mgds_wire.leaf);
}
