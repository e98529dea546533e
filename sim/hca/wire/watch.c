/* Looks at a peer that does not answer. */
#include "sim/hca/wire/watch.h"

#include <stddef.h>

#include "sim/hca/wire/fabric.h"

/* A device whose process has died keeps its words, and has no lock. */
static bool is_there(const struct mgds_hca_fabric *fabric, uint16_t lid)
{
    const struct mgds_hca_inbox *inbox = fabric->link[lid].inbox;

    return inbox && mgds_hca_inbox_alive(inbox) &&
           mgds_hca_inbox_flows(inbox) > 0 &&
           mgds_hca_registry_held(fabric->directory, lid);
}

static void begin(struct mgds_hca_watch *watch, const struct mgds_hca_link *to)
{
    watch->stage = MGDS_WATCH_SENT;
    if (to->medium->position)
        watch->position = to->medium->position(to->medium->ctx, to);
}

static bool were_taken(const struct mgds_hca_watch *watch,
                       const struct mgds_hca_link *to)
{
    const struct mgds_hca_medium *medium = to->medium;

    return !medium->taken || medium->taken(medium->ctx, to, watch->position);
}

bool mgds_hca_watch_look(struct mgds_hca_watch *watch,
                         struct mgds_hca_fabric *fabric, uint16_t lid)
{
    const struct mgds_hca_link *to =
        &fabric->link[lid <= MGDS_HCA_LIDS ? lid : 0];
    uint32_t rounds;

    if (watch->stage == MGDS_WATCH_DONE || !is_there(fabric, to->lid))
        return true;
    /* Before the lane: a round that ends later may be the one that took it. */
    rounds = mgds_hca_inbox_rounds(to->inbox);
    if (watch->stage == MGDS_WATCH_NEW)
        begin(watch, to);
    if (watch->stage == MGDS_WATCH_SENT && were_taken(watch, to)) {
        watch->stage = MGDS_WATCH_TAKEN;
        watch->rounds = rounds;
    }
    if (watch->stage == MGDS_WATCH_TAKEN &&
        rounds - watch->rounds >= to->medium->rounds) {
        watch->stage = MGDS_WATCH_DONE;
        mgds_hca_mail_look(&fabric->mail);
    }
    return false;
}
