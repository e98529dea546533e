/* Done words of pairs; see dones.h. */
#include "shim/gds/transport/dones.h"

#include "device/impl/mem.h"
#include "shim/base/clock.h"
#include "shim/gds/transport/far_rings.h"
#include "shim/gds/transport/own_rings.h"

enum mgds_dones_state mgds_dones_open(struct mgds_ring_pair *pair)
{
    bool again = pair->state == MGDS_DONES_REFUSED &&
                 mgds_clock_ns() - pair->since > MGDS_RING_AGAIN_NS;

    if (pair->state == MGDS_DONES_NONE || again)
        mgds_own_rings_add_dones(pair);
    return pair->state;
}

bool mgds_dones_take(struct mgds_ring_pair *pair, uint32_t *done)
{
    if (pair->state != MGDS_DONES_READY || pair->frees == 0)
        return false;
    *done = pair->free[--pair->frees];
    return true;
}

/* Nothing is given back to what is gone. */
void mgds_dones_give(struct mgds_ring_pair *pair, uint32_t done)
{
    if (pair->dones && pair->frees < MGDS_DONES)
        pair->free[pair->frees++] = (uint16_t)done;
}

static uint64_t *word_of(uint64_t words, uint32_t done)
{
    return (uint64_t *)(uintptr_t)(words + done * sizeof(struct mgds_unit));
}

uint64_t *mgds_dones_here(const struct mgds_ring_pair *pair, uint32_t done)
{
    return word_of(mgds_own_ring_address(pair->dones), done);
}

uint32_t mgds_dones_name(const struct mgds_ring_pair *pair, uint32_t done)
{
    return mgds_own_ring_number(pair->dones) * MGDS_DONES + done;
}

uint64_t *mgds_dones_there(const struct mgds_ring_pair *pair, uint32_t name)
{
    uint32_t number = name / MGDS_DONES, done = name % MGDS_DONES;

    if (pair->self)
        return pair->dones && mgds_own_ring_number(pair->dones) == number
                   ? mgds_dones_here(pair, done)
                   : NULL;
    if (!pair->their_dones || pair->their_dones->number != number)
        return NULL;
    return word_of((uintptr_t)pair->their_dones->base, done);
}
