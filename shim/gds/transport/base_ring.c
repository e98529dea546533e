/* The ring of a pair; see base_ring.h. */
#include "shim/gds/transport/base_ring.h"

#include "shim/gds/transport/far_rings.h"
#include "shim/gds/transport/own_rings.h"

uint32_t mgds_base_ring_units(void)
{
    uint32_t most = mgds_ring_units_most();

    return most < MGDS_RING_FIRST ? most : MGDS_RING_FIRST;
}

static void hear_answer(struct mgds_ring_pair *pair)
{
    struct mgds_ring_ask *ask = &pair->base.ask;

    if (ask->state != MGDS_ASK_GOT)
        return;
    ask->state = MGDS_ASK_NONE;
    if (ask->ring) /* or it has gone again: its owner was short of memory */
        mgds_far_use(ask->ring, &pair->base.ring);
}

/* An idle ring becomes the pair's: it has kept that, or was given it, perhaps
 * by a process that is short of memory. */
static void reuse_ring(struct mgds_ring_pair *pair)
{
    if (!pair->base.ring && pair->base.ask.state == MGDS_ASK_NONE &&
        (mgds_far_reuse(pair, &pair->base.ask, mgds_base_ring_units()) ||
         mgds_far_reuse(pair, &pair->base.ask, MGDS_RING_LEAST)))
        hear_answer(pair);
}

void mgds_base_ring_join(struct mgds_ring_pair *pair)
{
    pair->base.channels++;
    if (pair->base.ask.state == MGDS_ASK_REFUSED) /* who is new tries anew */
        pair->base.ask.state = MGDS_ASK_NONE;
    reuse_ring(pair);
}

void mgds_base_ring_settle(struct mgds_ring_pair *pair, int error)
{
    if (error && !pair->base.ring && pair->base.ask.state == MGDS_ASK_NONE) {
        pair->base.ask.state = MGDS_ASK_REFUSED;
        pair->base.ask.error = error;
    }
    reuse_ring(pair);
}

void mgds_base_ring_part(struct mgds_ring_pair *pair)
{
    if (--pair->base.channels > 0)
        return;
    mgds_far_forget(pair, &pair->base.ask);
    if (pair->base.ring)
        mgds_far_leave(pair->base.ring);
}

bool mgds_base_ring_open(struct mgds_ring_pair *pair)
{
    hear_answer(pair);
    if (!pair->base.ring && pair->base.ask.state == MGDS_ASK_NONE) {
        mgds_far_ask(pair, &pair->base.ask, mgds_base_ring_units());
        hear_answer(pair);
    }
    return pair->base.ask.state == MGDS_ASK_ASKED;
}

int mgds_base_ring_error(const struct mgds_ring_pair *pair)
{
    const struct mgds_ring_ask *ask = &pair->base.ask;

    return ask->state == MGDS_ASK_REFUSED && !mgds_ring_error_passes(ask->error)
               ? ask->error
               : 0;
}
