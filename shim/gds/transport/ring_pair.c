/* Records of pairs, and what they say to each other; see ring_pair.h. */
#include "shim/gds/transport/ring_pair.h"

#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/cuda/context.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/wire/wire.h"

static struct mgds_ring_pairs pairs = LIST_HEAD_INITIALIZER(pairs);

const struct mgds_ring_pairs *mgds_ring_pairs_all(void)
{
    return &pairs;
}

/* As many as there are processes of the host that were met: few. */
struct mgds_ring_pair *mgds_ring_pair_find(uint64_t here, uint64_t process,
                                           uint64_t there)
{
    struct mgds_ring_pair *pair;

    LIST_FOREACH(pair, &pairs, link)
    {
        if (pair->process == process && pair->there == there &&
            pair->here->id == here)
            break;
    }
    return pair;
}

static struct mgds_ring_pair *make_pair(struct mgds_context *here,
                                        uint64_t there, bool self)
{
    struct mgds_ring_pair *pair =
        (struct mgds_ring_pair *)mgds_calloc(1, sizeof(*pair));

    if (!pair)
        return NULL;
    pair->there = there;
    pair->here = mgds_context_get(here);
    pair->self = self;
    TAILQ_INIT(&pair->used);
    TAILQ_INIT(&pair->idle);
    TAILQ_INIT(&pair->asks);
    LIST_INSERT_HEAD(&pairs, pair, link);
    return pair;
}

struct mgds_ring_pair *mgds_ring_pair_open(struct mgds_context *here,
                                           struct mgds_wire_peer *peer,
                                           uint64_t there, bool self)
{
    uint64_t process = mgds_wire_peer_process(peer);
    struct mgds_ring_pair *pair = mgds_ring_pair_find(here->id, process, there);

    if (!pair)
        pair = make_pair(here, there, self);
    if (!pair || pair->peer) {
        mgds_wire_peer_put(peer);
    } else {
        pair->process = process;
        pair->peer = peer;
    }
    if (pair)
        mgds_ring_pair_get(pair);
    return pair;
}

void mgds_ring_pair_get(struct mgds_ring_pair *pair)
{
    pair->refs++;
}

void mgds_ring_pair_put(struct mgds_ring_pair *pair)
{
    if (--pair->refs > 0)
        return;
    LIST_REMOVE(pair, link);
    if (pair->peer)
        mgds_wire_peer_put(pair->peer);
    mgds_context_put(pair->here);
    free(pair);
}

struct mgds_ring_ends mgds_ring_pair_ends(const struct mgds_ring_pair *pair)
{
    return (struct mgds_ring_ends){pair->here->id, pair->there};
}

void mgds_ring_pair_tell(struct mgds_ring_pair *pair, enum mgds_envelope kind,
                         const void *head, size_t bytes)
{
    if (pair->peer)
        mgds_am_tell(pair->peer, kind, head, bytes);
}

void mgds_ring_pair_say(struct mgds_ring_pair *pair, enum mgds_envelope kind,
                        uint32_t number, int error)
{
    const struct mgds_ring_said said = {mgds_ring_pair_ends(pair), number,
                                        error};

    mgds_ring_pair_tell(pair, kind, &said, sizeof(said));
}

struct mgds_ring_pair *mgds_ring_pair_of(const struct mgds_ring_ends *ends,
                                         uint64_t from)
{
    return mgds_ring_pair_find(ends->to, from, ends->from);
}

void mgds_ring_pairs_part(void)
{
    struct mgds_ring_pair *pair;

    LIST_FOREACH(pair, &pairs, link)
    {
        if (pair->peer)
            mgds_wire_peer_put(pair->peer);
        pair->peer = NULL;
    }
}
