/* Packets that are on their way for a while. */
#include "sim/hca/wire/pace.h"

#include <stdlib.h>

enum { MICROSECOND = 1000 };

struct paced {
    struct mgds_hca_packet packet;
    uint64_t due;
    uint16_t lid;
    uint8_t payload[MGDS_HCA_MTU_MAX];
};

struct mgds_hca_pace {
    struct mgds_hca_speed speed;
    uint64_t free; /* when the packet before has left */
    uint32_t first;
    uint32_t next;
    struct paced paced[MGDS_HCA_PACED];
};

_Static_assert((MGDS_HCA_PACED & (MGDS_HCA_PACED - 1)) == 0,
               "numbers run through 2^32");

struct mgds_hca_pace *mgds_hca_pace_make(const struct mgds_hca_speed *speed)
{
    struct mgds_hca_pace *pace = calloc(1, sizeof(*pace));

    if (pace)
        pace->speed = *speed;
    return pace;
}

void mgds_hca_pace_free(struct mgds_hca_pace *pace)
{
    free(pace);
}

static uint64_t time_of(const struct mgds_hca_pace *pace, uint64_t bytes)
{
    if (pace->speed.rate == 0)
        return 0;
    return (bytes + MGDS_HCA_PACED_HEADER) * MICROSECOND / pace->speed.rate;
}

bool mgds_hca_pace_put(struct mgds_hca_pace *pace, uint64_t now, uint16_t lid,
                       const struct mgds_hca_packet *packet,
                       const struct mgds_hca_list *payload)
{
    struct paced *paced = &pace->paced[pace->next % MGDS_HCA_PACED];
    struct mgds_hca_list copy;

    if (pace->next - pace->first == MGDS_HCA_PACED ||
        pace->free > now + MGDS_HCA_BACKLOG)
        return false;
    if (pace->free < now)
        pace->free = now;
    pace->free += time_of(pace, payload->bytes);
    paced->due = pace->free + pace->speed.latency;
    paced->packet = *packet;
    paced->lid = lid;
    mgds_hca_list_one(&copy, paced->payload, sizeof(paced->payload));
    mgds_hca_list_copy(&copy, payload);
    pace->next++;
    return true;
}

const struct mgds_hca_packet *mgds_hca_pace_next(struct mgds_hca_pace *pace,
                                                 uint64_t now, uint16_t *lid,
                                                 struct mgds_hca_list *payload)
{
    struct paced *paced = &pace->paced[pace->first % MGDS_HCA_PACED];

    if (pace->first == pace->next || now < paced->due)
        return NULL;
    *lid = paced->lid;
    mgds_hca_list_one(payload, paced->payload, paced->packet.bytes);
    return &paced->packet;
}

void mgds_hca_pace_drop(struct mgds_hca_pace *pace)
{
    pace->first++;
}

uint64_t mgds_hca_pace_due(const struct mgds_hca_pace *pace)
{
    return pace->first == pace->next
               ? 0
               : pace->paced[pace->first % MGDS_HCA_PACED].due;
}
