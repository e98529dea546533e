/* Packets on their way to the fabric. */
#include "sim/hca/wire/outlet.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/wire/pace.h"

/* Of a key: another index, and another variant. */
enum { WRONG_KEY = 0x5aa5 };

int mgds_hca_outlet_disturb(struct mgds_hca_outlet *outlet,
                            const struct mgds_hca_faults *faults)
{
    if (!outlet->held)
        outlet->held = calloc(MGDS_HCA_HELD, sizeof(*outlet->held));
    if (!outlet->held)
        return -ENOMEM;
    outlet->faults = *faults;
    return 0;
}

void mgds_hca_outlet_fini(struct mgds_hca_outlet *outlet)
{
    free(outlet->held);
    outlet->held = NULL;
    mgds_hca_pace_free(outlet->pace);
    outlet->pace = NULL;
}

static bool pass(struct mgds_hca_outlet *outlet, uint16_t lid,
                 const struct mgds_hca_packet *packet,
                 const struct mgds_hca_list *payload)
{
    return outlet->pace
               ? mgds_hca_pace_put(outlet->pace, mgds_hca_now(outlet->hca), lid,
                                   packet, payload)
               : mgds_hca_fabric_send(outlet->fabric, lid, packet, payload);
}

static bool hand_over(struct mgds_hca_outlet *outlet, uint16_t lid,
                      const struct mgds_hca_packet *packet,
                      const struct mgds_hca_list *payload)
{
    if (!pass(outlet, lid, packet, payload)) {
        outlet->blocked = true;
        return false;
    }
    outlet->sent++;
    mgds_hca_outlet_count(outlet, MGDS_COUNT_PACKETS_SENT,
                          MGDS_COUNT_WORDS_SENT, payload->bytes);
    return true;
}

static struct mgds_hca_held *free_place(const struct mgds_hca_outlet *outlet)
{
    for (unsigned i = 0; i < MGDS_HCA_HELD; i++) {
        if (outlet->held[i].due == 0)
            return &outlet->held[i];
    }
    return NULL;
}

/* Keeps a packet back; what its payload names may change meanwhile. */
static bool hold(struct mgds_hca_outlet *outlet, uint16_t lid,
                 const struct mgds_hca_packet *packet,
                 const struct mgds_hca_list *payload, bool let_past)
{
    struct mgds_hca_held *held = free_place(outlet);
    struct mgds_hca_list copy;

    if (!held)
        return hand_over(outlet, lid, packet, payload);
    held->packet = *packet;
    held->lid = lid;
    held->let_past = let_past;
    held->due = mgds_hca_now(outlet->hca) + outlet->faults.late;
    mgds_hca_list_one(&copy, held->payload, sizeof(held->payload));
    mgds_hca_list_copy(&copy, payload);
    return true;
}

/* False: no room yet. */
static bool let_go(struct mgds_hca_outlet *outlet, struct mgds_hca_held *held)
{
    struct mgds_hca_list payload;

    mgds_hca_list_one(&payload, held->payload, held->packet.bytes);
    if (!hand_over(outlet, held->lid, &held->packet, &payload))
        return false;
    held->due = 0;
    return true;
}

/* Those that only wait for a packet to pass them. */
static void let_passed_go(struct mgds_hca_outlet *outlet)
{
    for (unsigned i = 0; i < MGDS_HCA_HELD; i++) {
        if (outlet->held[i].due && outlet->held[i].let_past)
            let_go(outlet, &outlet->held[i]);
    }
}

static bool send_twice(struct mgds_hca_outlet *outlet, uint16_t lid,
                       const struct mgds_hca_packet *packet,
                       const struct mgds_hca_list *payload)
{
    if (!hand_over(outlet, lid, packet, payload))
        return false;
    hand_over(outlet, lid, packet, payload);
    return true;
}

static bool send_wrong_key(struct mgds_hca_outlet *outlet, uint16_t lid,
                           const struct mgds_hca_packet *packet,
                           const struct mgds_hca_list *payload)
{
    struct mgds_hca_packet wrong = *packet;

    wrong.rkey ^= WRONG_KEY;
    return hand_over(outlet, lid, &wrong, payload);
}

static bool send_disturbed(struct mgds_hca_outlet *outlet, uint16_t lid,
                           const struct mgds_hca_packet *packet,
                           const struct mgds_hca_list *payload)
{
    switch (mgds_hca_faults_draw(&outlet->faults)) {
    case MGDS_WIRE_FAULT_DROP:
        outlet->sent++;
        return true;
    case MGDS_WIRE_FAULT_DUPLICATE:
        return send_twice(outlet, lid, packet, payload);
    case MGDS_WIRE_FAULT_REORDER:
        return hold(outlet, lid, packet, payload, true);
    case MGDS_WIRE_FAULT_DELAY:
        return hold(outlet, lid, packet, payload, false);
    case MGDS_WIRE_FAULT_KEY:
        return send_wrong_key(outlet, lid, packet, payload);
    default:
        return hand_over(outlet, lid, packet, payload);
    }
}

bool mgds_hca_outlet_send(struct mgds_hca_outlet *outlet, uint16_t lid,
                          struct mgds_hca_packet *packet,
                          const struct mgds_hca_list *payload)
{
    uint64_t before = outlet->sent;
    bool done;

    packet->from = outlet->fabric->lid;
    packet->bytes = (uint16_t)payload->bytes;
    if (!outlet->held)
        return hand_over(outlet, lid, packet, payload);
    if (mgds_hca_outlet_dead(outlet))
        return true; /* on its way, and lost */
    done = send_disturbed(outlet, lid, packet, payload);
    if (outlet->sent > before)
        let_passed_go(outlet);
    return done;
}

static int run_held(struct mgds_hca_outlet *outlet)
{
    uint64_t now;
    int did = 0;

    if (!outlet->held)
        return 0;
    now = mgds_hca_now(outlet->hca);
    for (unsigned i = 0; i < MGDS_HCA_HELD; i++) {
        if (outlet->held[i].due && now >= outlet->held[i].due)
            did += let_go(outlet, &outlet->held[i]);
    }
    return did;
}

/* What has been on its way for long enough. */
static int run_pace(struct mgds_hca_outlet *outlet)
{
    const struct mgds_hca_packet *packet;
    struct mgds_hca_list payload;
    uint16_t lid;
    int did = 0;

    if (!outlet->pace)
        return 0;
    while ((packet = mgds_hca_pace_next(outlet->pace, mgds_hca_now(outlet->hca),
                                        &lid, &payload))) {
        if (!mgds_hca_fabric_send(outlet->fabric, lid, packet, &payload)) {
            outlet->blocked = true;
            break;
        }
        mgds_hca_pace_drop(outlet->pace);
        did++;
    }
    return did;
}

int mgds_hca_outlet_run(struct mgds_hca_outlet *outlet)
{
    return run_held(outlet) + run_pace(outlet);
}

uint64_t mgds_hca_outlet_due(const struct mgds_hca_outlet *outlet)
{
    uint64_t due = outlet->pace ? mgds_hca_pace_due(outlet->pace) : 0;

    for (unsigned i = 0; outlet->held && i < MGDS_HCA_HELD; i++) {
        if (outlet->held[i].due && (!due || outlet->held[i].due < due))
            due = outlet->held[i].due;
    }
    return due;
}
