/* The medium of one host. */
#include "sim/hca/wire/lanes.h"

#include "sim/hca/wire/mail.h"

/* Packets of one sender before it is another one's turn. */
enum { TURN = 32 };

static int connect_link(void *ctx, const struct mgds_hca_link *link, int file)
{
    const struct mgds_hca_lanes *lanes = ctx;

    return mgds_hca_inbox_use_lane(link->inbox, file, lanes->lid);
}

/* Waking costs: it is looked into once for many packets. */
static void mark_to_wake(struct mgds_hca_lanes *lanes,
                         const struct mgds_hca_link *link)
{
    uint64_t bit = UINT64_C(1) << link->lid % 64;
    uint64_t *marked = &lanes->marked[link->lid / 64];

    if (*marked & bit)
        return;
    *marked |= bit;
    lanes->to_wake[lanes->wakes++] = *link;
}

void mgds_hca_lanes_flush(struct mgds_hca_lanes *lanes)
{
    const struct mgds_hca_link *link;

    while (lanes->wakes > 0) {
        link = &lanes->to_wake[--lanes->wakes];
        lanes->marked[link->lid / 64] &= ~(UINT64_C(1) << link->lid % 64);
        if (mgds_hca_inbox_sleeps(link->inbox))
            mgds_hca_mail_wake(lanes->mail, link->lid);
    }
}

static bool send_packet(void *ctx, const struct mgds_hca_link *link,
                        const struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload)
{
    struct mgds_hca_lanes *lanes = ctx;
    struct mgds_hca_lane *lane = mgds_hca_inbox_lane(link->inbox, lanes->lid);

    if (!mgds_hca_lane_put(lane, packet, payload))
        return false;
    mark_to_wake(lanes, link);
    return true;
}

static void add_sender(struct mgds_hca_lanes *lanes, unsigned lid)
{
    if (lid == 0 || lid > MGDS_HCA_LIDS || lanes->end[lid].lane)
        return;
    lanes->end[lid].lane = mgds_hca_inbox_lane(lanes->inbox, (uint16_t)lid);
    lanes->sender[lanes->senders++] = (uint16_t)lid;
}

static uint64_t load_senders(const struct mgds_hca_lanes *lanes, unsigned set)
{
    return __atomic_load_n(&lanes->inbox->senders[set], __ATOMIC_ACQUIRE);
}

/* Lanes that came into use. */
static void look_for_senders(struct mgds_hca_lanes *lanes)
{
    uint32_t joined = mgds_hca_inbox_joined(lanes->inbox);

    if (joined == lanes->joined)
        return;
    lanes->joined = joined;
    for (unsigned lid = 1; lid <= MGDS_HCA_LIDS; lid++) {
        if (load_senders(lanes, lid / 64) >> lid % 64 & 1)
            add_sender(lanes, lid);
    }
}

static struct mgds_hca_lane_end *current_end(struct mgds_hca_lanes *lanes)
{
    return &lanes->end[lanes->sender[lanes->turn]];
}

static void next_turn(struct mgds_hca_lanes *lanes)
{
    mgds_hca_lane_release(current_end(lanes));
    lanes->taken = 0;
    lanes->turn = (lanes->turn + 1) % lanes->senders;
}

static bool receive_packet(void *ctx, struct mgds_hca_packet *packet,
                           struct mgds_hca_list *payload)
{
    struct mgds_hca_lanes *lanes = ctx;

    look_for_senders(lanes);
    for (unsigned tried = 0; tried < lanes->senders; tried++) {
        if (lanes->taken == TURN)
            next_turn(lanes);
        if (mgds_hca_lane_take(current_end(lanes), packet, payload)) {
            lanes->taken++;
            return true;
        }
        next_turn(lanes);
    }
    return false;
}

static uint32_t sent_position(void *ctx, const struct mgds_hca_link *link)
{
    const struct mgds_hca_lanes *lanes = ctx;

    return mgds_hca_lane_position(mgds_hca_inbox_lane(link->inbox, lanes->lid));
}

static bool were_taken(void *ctx, const struct mgds_hca_link *link,
                       uint32_t position)
{
    const struct mgds_hca_lanes *lanes = ctx;

    return mgds_hca_lane_passed(mgds_hca_inbox_lane(link->inbox, lanes->lid),
                                position);
}

struct mgds_hca_medium mgds_hca_lanes_medium(struct mgds_hca_lanes *lanes)
{
    return (struct mgds_hca_medium){.connect = connect_link,
                                    .send = send_packet,
                                    .receive = receive_packet,
                                    .position = sent_position,
                                    .taken = were_taken,
                                    .rounds = 2,
                                    .ctx = lanes};
}

bool mgds_hca_lanes_filled(struct mgds_hca_lanes *lanes)
{
    look_for_senders(lanes);
    for (unsigned i = 0; i < lanes->senders; i++) {
        if (mgds_hca_lane_filled(&lanes->end[lanes->sender[i]]))
            return true;
    }
    return false;
}
