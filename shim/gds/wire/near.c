/* Messages between processes of a host; see near.h. */
#include "shim/gds/wire/near.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/host.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/wire/bell.h"
#include "shim/gds/wire/flight.h"
#include "shim/gds/wire/inbox.h"
#include "shim/gds/wire/peer.h"
#include "shim/gds/wire/state.h"

enum {
    PIECE = 16384, /* of a body, at most */
    LEAST = 4096,  /* and at least, but for its end */
    BURST = 32,    /* records of a ring at a time */
    LAST = 256,    /* such bursts of a writer that is given up */
    WRITERS_LATE = 8
};

/* How often peers are looked at. A death is noticed so soon, and a peer that
 * has closed; a stopped one is alive. */
static const uint64_t look_ns = 400000000;

enum record_kind { FRAME, BODY };

/* To a peer. Flights wait in order: frames -> bodies. */
struct mgds_near {
    TAILQ_ENTRY(mgds_near) link; /* in links */
    struct mgds_wire_peer *peer;
    struct mgds_outbox *outbox;
    struct mgds_wire_flights frames; /* wait for room */
    struct mgds_wire_flights bodies; /* their frames have left */
    size_t moved;                    /* bytes of the first body */
};

/* A body that comes. */
struct parcel {
    TAILQ_ENTRY(parcel) link;
    struct mgds_wire_landing landing; /* where NULL: nobody wants it */
    uint64_t got, bytes;
};
TAILQ_HEAD(parcels, parcel);

/* From a writer of ours, by ring. */
struct sender {
    bool broken; /* nothing of it is read any more: it wrote what cannot be, or
                    was given up and may go on all the same */
    struct parcels parcels;
};

static struct {
    struct mgds_inbox *inbox; /* NULL: none */
    struct sender *sender[MGDS_INBOX_RINGS];
    TAILQ_HEAD(, mgds_near) links;
    uint64_t next_look; /* time */
    unsigned looks;
} near = {.links = TAILQ_HEAD_INITIALIZER(near.links)};

int mgds_near_open(void)
{
    int rc = mgds_inbox_create(&near.inbox, mgds_wire.self.process,
                               mgds_host_number());

    if (rc < 0) {
        errno = -rc;
        mgds_warn("no memory can be shared with the other processes of this "
                  "host: %m: their messages go over the network");
        return rc;
    }
    mgds_wire.self.worker[MGDS_WIRE_WORKER_NEAR] =
        (struct mgds_wire_where){.address = mgds_inbox_place(near.inbox),
                                 .bytes = sizeof(struct mgds_inbox_place)};
    return 0;
}

static bool read_place(struct mgds_inbox_place *out,
                       const struct mgds_wire_identity *who)
{
    const struct mgds_wire_where *where = &who->worker[MGDS_WIRE_WORKER_NEAR];

    if (where->bytes != sizeof(*out))
        return false;
    memcpy(out, where->address, sizeof(*out));
    return out->host != 0 && out->host == mgds_inbox_place(near.inbox)->host;
}

/* near.inbox is looked at without a lock: it is there before a peer can be, and
 * until there are none. */
bool mgds_near_reaches(const struct mgds_wire_identity *who)
{
    struct mgds_inbox_place place;
    int rc;

    if (!near.inbox || !read_place(&place, who))
        return false;
    rc = mgds_inbox_reach(&place, who->process);
    if (rc == 0)
        return true;
    mgds_count(wire_not_shared);
    errno = -rc;
    mgds_warn_once("the memory of process %d, which says that it is on this "
                   "host, cannot be opened: %m: messages to such processes go "
                   "over the network; run them as one user, in one PID "
                   "namespace",
                   place.pid);
    return false;
}

int mgds_near_connect(struct mgds_wire_peer *peer)
{
    struct mgds_near *link = mgds_calloc(1, sizeof(*link));
    struct mgds_inbox_place place;
    int rc;

    if (!link)
        return -ENOMEM;
    if (!read_place(&place, &peer->who))
        rc = -EHOSTUNREACH;
    else
        rc = mgds_outbox_open(&link->outbox, &place, peer->who.process,
                              near.inbox);
    if (rc < 0) {
        free(link);
        return rc == -ESRCH ? -ECONNRESET : rc;
    }
    link->peer = peer;
    TAILQ_INIT(&link->frames);
    TAILQ_INIT(&link->bodies);
    if (TAILQ_EMPTY(&near.links))
        near.next_look = mgds_clock_ns() + look_ns;
    TAILQ_INSERT_TAIL(&near.links, link, link);
    peer->way = link;
    return 0;
}

static void end_body(struct mgds_near *link, int rc)
{
    struct mgds_wire_flight *flight = TAILQ_FIRST(&link->bodies);

    TAILQ_REMOVE(&link->bodies, flight, turn);
    link->moved = 0;
    mgds_flight_land(flight, rc);
}

static bool put_frame(struct mgds_near *link, int room)
{
    struct mgds_wire_flight *flight = TAILQ_FIRST(&link->frames);
    const struct mgds_inbox_record record = {.kind = FRAME,
                                             .bytes =
                                                 (uint32_t)flight->frame_bytes,
                                             .body_bytes = flight->body_bytes};

    if (room < (int)record.bytes)
        return false;
    mgds_outbox_put(link->outbox, &record, &flight->frame);
    TAILQ_REMOVE(&link->frames, flight, turn);
    if (flight->body_bytes > 0)
        TAILQ_INSERT_TAIL(&link->bodies, flight, turn);
    else
        mgds_flight_land(flight, 0);
    return true;
}

static bool put_piece(struct mgds_near *link, int room)
{
    struct mgds_wire_flight *flight = TAILQ_FIRST(&link->bodies);
    size_t left = flight->body_bytes - link->moved;
    size_t bytes = left < PIECE ? left : PIECE;
    struct mgds_inbox_record record = {.kind = BODY};

    if (room < (int)bytes && room < LEAST)
        return false;
    if (room < (int)bytes)
        bytes = (size_t)room;
    record.bytes = (uint32_t)bytes;
    mgds_outbox_put(link->outbox, &record,
                    (const char *)flight->body + link->moved);
    link->moved += bytes;
    if (link->moved == flight->body_bytes)
        end_body(link, 0);
    return true;
}

static int pump_link(struct mgds_near *link)
{
    bool any = true;
    int did = 0;

    while (any) {
        int room = mgds_outbox_room(link->outbox);

        any = false;
        if (!TAILQ_EMPTY(&link->frames))
            any = put_frame(link, room);
        else if (!TAILQ_EMPTY(&link->bodies))
            any = put_piece(link, room);
        did += any;
    }
    return did;
}

void mgds_near_send(struct mgds_wire_flight *flight)
{
    struct mgds_near *link = flight->peer->way;

    TAILQ_INSERT_TAIL(&link->frames, flight, turn);
    pump_link(link);
}

static int pump_all(void)
{
    struct mgds_near *link;
    int did = 0;

    TAILQ_FOREACH(link, &near.links, link)
    did += pump_link(link);
    return did;
}

static struct sender *sender_of(unsigned ring)
{
    struct sender *sender = near.sender[ring];

    if (sender)
        return sender;
    sender = mgds_calloc(1, sizeof(*sender));
    if (sender)
        TAILQ_INIT(&sender->parcels);
    near.sender[ring] = sender;
    return sender;
}

static void end_parcel(struct sender *sender, int rc)
{
    struct parcel *parcel = TAILQ_FIRST(&sender->parcels);

    TAILQ_REMOVE(&sender->parcels, parcel, link);
    if (parcel->landing.where)
        parcel->landing.body(parcel->landing.arg, rc);
    free(parcel);
    mgds_bell_message_end();
}

/* The record first: without one the frame stays where it is. */
static int take_frame(unsigned ring, const struct mgds_inbox_record *record)
{
    struct sender *sender = near.sender[ring];
    struct parcel *parcel = NULL;
    struct mgds_wire_landing none;
    struct mgds_wire_frame frame;

    if (record->bytes > sizeof(frame))
        return -EPROTO;
    if (record->body_bytes > 0) {
        parcel = mgds_calloc(1, sizeof(*parcel));
        if (!parcel)
            return -ENOMEM;
    }
    mgds_inbox_read(near.inbox, ring, &frame, record->bytes);
    if (!parcel) {
        mgds_wire_deliver(&frame, record->bytes, 0, &none);
        return 1;
    }
    parcel->bytes = record->body_bytes;
    if (!mgds_wire_deliver(&frame, record->bytes, (size_t)parcel->bytes,
                           &parcel->landing))
        parcel->landing.where = NULL;
    TAILQ_INSERT_TAIL(&sender->parcels, parcel, link);
    mgds_bell_message_begin();
    return 1;
}

static int take_piece(unsigned ring, const struct mgds_inbox_record *record)
{
    struct sender *sender = near.sender[ring];
    struct parcel *parcel = TAILQ_FIRST(&sender->parcels);

    if (!parcel || record->bytes > parcel->bytes - parcel->got)
        return -EPROTO;
    if (parcel->landing.where)
        mgds_inbox_read(near.inbox, ring,
                        (char *)parcel->landing.where + parcel->got,
                        record->bytes);
    parcel->got += record->bytes;
    if (parcel->got == parcel->bytes)
        end_parcel(sender, 0);
    return 1;
}

/* 1: one was taken; 0: none there; negative errno. */
static int take_record(unsigned ring)
{
    struct mgds_inbox_record record;
    int rc = mgds_inbox_next(near.inbox, ring, &record);

    if (rc <= 0)
        return rc;
    if (record.kind == FRAME)
        rc = take_frame(ring, &record);
    else
        rc = record.kind == BODY ? take_piece(ring, &record) : -EPROTO;
    if (rc > 0)
        mgds_inbox_pop(near.inbox, ring, &record);
    return rc;
}

static void end_parcels(unsigned ring, int rc)
{
    struct sender *sender = near.sender[ring];

    while (sender && !TAILQ_EMPTY(&sender->parcels))
        end_parcel(sender, rc);
}

/* The ring stays its writer's. */
static void break_sender(unsigned ring, int rc)
{
    near.sender[ring]->broken = true;
    end_parcels(ring, rc);
}

static void give_up(unsigned ring)
{
    mgds_warn_once("another process of this host writes what no libmpix_gds.so "
                   "does: it is not heard any more; do all processes of the "
                   "job load the same one?");
    break_sender(ring, -EPROTO);
}

/* A burst of a ring's records; the ring stays due if there may be more. */
static int take_some(unsigned ring, unsigned most)
{
    int did = 0;
    int rc = 1;

    if (!sender_of(ring)) {
        mgds_inbox_again(near.inbox, ring);
        return 0;
    }
    if (near.sender[ring]->broken)
        return 0;
    while (rc > 0 && (unsigned)did < most) {
        rc = take_record(ring);
        did += rc > 0;
    }
    if (rc == -EPROTO)
        give_up(ring);
    else if (rc != 0)
        mgds_inbox_again(near.inbox, ring);
    return did;
}

/* Nothing more comes in this ring: another may have it. */
static void retire_ring(unsigned ring)
{
    while (near.sender[ring] && take_some(ring, BURST) > 0)
        ;
    end_parcels(ring, -ECONNRESET);
    free(near.sender[ring]);
    near.sender[ring] = NULL;
    mgds_inbox_free(near.inbox, ring);
}

static int take_all(void)
{
    int did = 0;
    int ring;

    for (unsigned n = 0; n < MGDS_INBOX_RINGS; n++) {
        ring = mgds_inbox_due(near.inbox);
        if (ring < 0)
            break;
        did += take_some((unsigned)ring, BURST);
        if (mgds_inbox_over(near.inbox, (unsigned)ring, false))
            retire_ring((unsigned)ring);
    }
    return did;
}

static void look_at_writers(void)
{
    for (unsigned i = 0; i < MGDS_INBOX_RINGS; i++)
        if (near.sender[i] && mgds_inbox_over(near.inbox, i, true))
            retire_ring(i);
}

/* Writers that are no peers of ours are of no interest but for their rings. */
static void look_at_rings(void)
{
    uint64_t now = mgds_clock_ns();
    struct mgds_near *link;

    if (now < near.next_look)
        return;
    near.next_look = now + look_ns;
    TAILQ_FOREACH(link, &near.links, link)
    {
        if (!mgds_outbox_lives(link->outbox))
            mgds_wire_lose(link->peer, -ECONNRESET);
    }
    if (++near.looks % WRITERS_LATE == 0)
        look_at_writers();
}

int mgds_near_round(void)
{
    if (!near.inbox)
        return 0;
    look_at_rings();
    return take_all() + pump_all();
}

/* One that was given up though it lives, stopped perhaps, writes to its ring
 * when it goes on: nobody else may have it before it is closed, or dead. What
 * is there has come. */
static void lose_ring(unsigned ring)
{
    if (mgds_inbox_over(near.inbox, ring, true)) {
        retire_ring(ring);
        return;
    }
    for (unsigned n = 0; n < LAST && take_some(ring, BURST) > 0; n++)
        continue;
    break_sender(ring, -ECONNRESET);
}

static void lose_rings_of(uint64_t process)
{
    for (unsigned i = 0; i < MGDS_INBOX_RINGS; i++)
        if (mgds_inbox_writer(near.inbox, i) == process && sender_of(i))
            lose_ring(i);
}

void mgds_near_disconnect(struct mgds_wire_peer *peer)
{
    int rc = peer->stage == MGDS_WIRE_LOST ? -ECONNRESET : -ECANCELED;
    struct mgds_near *link = peer->way;
    struct mgds_wire_flight *flight;

    if (peer->stage == MGDS_WIRE_LOST)
        lose_rings_of(peer->who.process);
    while ((flight = TAILQ_FIRST(&link->frames)) != NULL) {
        TAILQ_REMOVE(&link->frames, flight, turn);
        mgds_flight_land(flight, rc);
    }
    while (!TAILQ_EMPTY(&link->bodies))
        end_body(link, rc);
    TAILQ_REMOVE(&near.links, link, link);
    mgds_outbox_close(link->outbox);
    free(link);
    peer->way = NULL;
}

void mgds_near_close(void)
{
    for (unsigned i = 0; i < MGDS_INBOX_RINGS; i++) {
        end_parcels(i, -ECANCELED);
        free(near.sender[i]);
        near.sender[i] = NULL;
    }
    mgds_inbox_destroy(near.inbox);
    near.inbox = NULL;
    near.looks = 0;
}

bool mgds_near_doze(void)
{
    return !near.inbox || mgds_inbox_doze(near.inbox);
}

void mgds_near_wake(void)
{
    if (near.inbox)
        mgds_inbox_wake(near.inbox);
}

int mgds_near_bell(void)
{
    return near.inbox ? mgds_inbox_bell(near.inbox) : -1;
}

int64_t mgds_near_patience(void)
{
    return TAILQ_EMPTY(&near.links) ? -1 : (int64_t)look_ns;
}
