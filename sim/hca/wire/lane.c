/* A lane of packets in shared memory. */
#include "sim/hca/wire/lane.h"

#include <string.h>

enum {
    UNIT = MGDS_HCA_LANE_UNIT,
    UNITS = MGDS_HCA_LANE_UNITS,
    PAYLOAD_MAX = 4096
};

_Static_assert(sizeof(struct mgds_hca_packet) <= UNIT, "a header is a unit");
_Static_assert((UNITS & (UNITS - 1)) == 0, "positions run through 2^32");

static uint32_t units_of(uint64_t payload)
{
    return 1 + (uint32_t)((payload + UNIT - 1) / UNIT);
}

static uint8_t *unit_at(struct mgds_hca_lane *lane, uint32_t position)
{
    return lane->unit[position % UNITS];
}

/* Bytes from a position to the end of the units, at most so many. */
static uint64_t straight_bytes(uint32_t position, uint64_t bytes)
{
    uint64_t room = (uint64_t)(UNITS - position % UNITS) * UNIT;

    return bytes < room ? bytes : room;
}

/* The units from a position on as a list, of one or two pieces. */
static void list_units(struct mgds_hca_lane *lane, uint32_t position,
                       uint64_t bytes, struct mgds_hca_list *list)
{
    uint64_t straight = straight_bytes(position, bytes);

    mgds_hca_list_init(list);
    if (bytes > 0)
        mgds_hca_list_add(list, unit_at(lane, position), straight);
    if (bytes > straight)
        mgds_hca_list_add(list, unit_at(lane, 0), bytes - straight);
}

bool mgds_hca_lane_put(struct mgds_hca_lane *lane,
                       const struct mgds_hca_packet *packet,
                       const struct mgds_hca_list *payload)
{
    uint32_t units = units_of(payload->bytes);
    uint32_t head = lane->head; /* ours */
    /* The receiver has read what is before its tail. */
    uint32_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);
    struct mgds_hca_list to;

    if (UNITS - (head - tail) < units || head - tail > UNITS)
        return false;
    memcpy(unit_at(lane, head), packet, sizeof(*packet));
    list_units(lane, head + 1, payload->bytes, &to);
    mgds_hca_list_copy(&to, payload);
    /* Header and payload are there before it. */
    __atomic_store_n(&lane->head, head + units, __ATOMIC_RELEASE);
    return true;
}

uint32_t mgds_hca_lane_position(const struct mgds_hca_lane *lane)
{
    return lane->head; /* ours */
}

bool mgds_hca_lane_passed(const struct mgds_hca_lane *lane, uint32_t position)
{
    uint32_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);

    return (int32_t)(tail - position) >= 0;
}

bool mgds_hca_lane_filled(const struct mgds_hca_lane_end *end)
{
    return __atomic_load_n(&end->lane->head, __ATOMIC_ACQUIRE) !=
           end->lane->tail + end->held;
}

void mgds_hca_lane_release(struct mgds_hca_lane_end *end)
{
    uint32_t tail = end->lane->tail + end->held;

    end->held = 0;
    __atomic_store_n(&end->lane->tail, tail, __ATOMIC_RELEASE);
}

static void drop_all(struct mgds_hca_lane_end *end, uint32_t head)
{
    end->held = 0;
    __atomic_store_n(&end->lane->tail, head, __ATOMIC_RELEASE);
}

bool mgds_hca_lane_take(struct mgds_hca_lane_end *end,
                        struct mgds_hca_packet *packet,
                        struct mgds_hca_list *payload)
{
    struct mgds_hca_lane *lane = end->lane;
    uint32_t head = __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE);
    uint32_t tail;

    if (end->held)
        mgds_hca_lane_release(end);
    tail = lane->tail; /* ours */
    if (head == tail)
        return false;
    memcpy(packet, unit_at(lane, tail), sizeof(*packet));
    if (head - tail > UNITS || packet->bytes > PAYLOAD_MAX ||
        units_of(packet->bytes) > head - tail) {
        drop_all(end, head);
        return false;
    }
    end->held = units_of(packet->bytes);
    list_units(lane, tail + 1, packet->bytes, payload);
    return true;
}
