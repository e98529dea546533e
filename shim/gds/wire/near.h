/*
 * Processes of this host: frames and bodies go through rings in each other's
 * memory (inbox.h), not over the network. Only the wire's files include this;
 * the WIRE lock is held unless it says otherwise.
 *
 * A frame goes as one record, in the order of posts. The bodies follow in the
 * same order, in pieces, with room left for frames between them: so a long
 * body holds up no envelope, and the receiver knows where it goes before it
 * comes. A body that nobody wants is thrown away piece by piece.
 */
#ifndef MGDS_GDS_WIRE_NEAR_H
#define MGDS_GDS_WIRE_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/wire/address.h"

struct mgds_wire_flight;
struct mgds_wire_peer;

/* Makes the inbox of the process that self names. Negative errno: there is
 * none, one line has said why, and others reach us by the network. */
int mgds_near_open(void);

/* Every body that is due ends with -ECANCELED; flights are the caller's to
 * end. Others see that we have closed. */
void mgds_near_close(void);

/* Whether messages to that process go this way. Any thread, no lock. */
bool mgds_near_reaches(const struct mgds_wire_identity *who);

/* A ring there, for a peer that is reached this way. 0 or -errno. */
int mgds_near_connect(struct mgds_wire_peer *peer);

/* Sends; the flight is flying and lands (flight.h) when all of it is
 * in the ring. */
void mgds_near_send(struct mgds_wire_flight *flight);

/* What has come, what there is room for now, and now and then who has died
 * (mgds_wire_lose). How much was done. */
int mgds_near_round(void);

/* The ring there is given back. If the peer is lost: what came of it is handled
 * first, and what else should have come ends, as do flights to it. */
void mgds_near_disconnect(struct mgds_wire_peer *peer);

/* Around a sleep for long. False: something has come. */
bool mgds_near_doze(void);
void mgds_near_wake(void);

/* What polls readable when something comes meanwhile, or -1; and how long the
 * sleep may be, in ns, -1: for ever. */
int mgds_near_bell(void);
int64_t mgds_near_patience(void);

#endif
