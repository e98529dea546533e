/* Records of pairs, and what they say to each other; see ring_pair.h. */
#include "shim/gds/transport/ring_pair.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/hash.h"
#include "shim/gds/cuda/context.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/wire/wire.h"

static struct mgds_hash gone; /* and no more of them */
static struct mgds_ring_pairs pairs = LIST_HEAD_INITIALIZER(pairs);

const struct mgds_ring_pairs *mgds_ring_pairs_all(void)
{
    return &pairs;
}

bool mgds_ring_error_passes(int error)
{
    return error == -ENOMEM || error == -EBUSY || error == -ENOTCONN;
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

/* As good as random, not 0. */
static uint64_t key_of(uint64_t here, uint64_t process, uint64_t there)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

    return ((process * odd + here) * odd + there) * odd | 1;
}

bool mgds_ring_pair_is_gone(const struct mgds_ring_ends *ends, uint64_t from)
{
    return !mgds_ring_pair_of(ends, from) &&
           mgds_hash_find(&gone, key_of(ends->to, from, ends->from));
}

/* Without memory nobody remembers it. */
static void remember_pair(const struct mgds_ring_pair *pair)
{
    mgds_hash_put(&gone, key_of(pair->here->id, pair->process, pair->there),
                  &gone);
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
    remember_pair(pair);
    if (pair->peer)
        mgds_wire_peer_put(pair->peer);
    mgds_context_put(pair->here);
    free(pair);
}

struct mgds_ring_ends mgds_ring_pair_ends(const struct mgds_ring_pair *pair)
{
    return (struct mgds_ring_ends){pair->here->id, pair->there};
}

int mgds_ring_pair_tell(struct mgds_ring_pair *pair, enum mgds_envelope kind,
                        const void *head, size_t bytes)
{
    return pair->peer ? mgds_am_tell(pair->peer, kind, head, bytes) : -ENOTCONN;
}

void mgds_ring_pair_say(struct mgds_ring_pair *pair, enum mgds_envelope kind,
                        uint32_t number, int error)
{
    const struct mgds_ring_said said = {mgds_ring_pair_ends(pair), number,
                                        error};

    mgds_ring_pair_tell(pair, kind, &said, sizeof(said));
}

void mgds_ring_pair_reply(uint64_t process, enum mgds_envelope kind,
                          const void *head, size_t bytes)
{
    struct mgds_wire_peer *peer = mgds_wire_peer_find(process);

    if (!peer)
        return;
    mgds_am_tell(peer, kind, head, bytes);
    mgds_wire_peer_put(peer);
}

void mgds_ring_pair_return(uint64_t process, const struct mgds_ring_ends *ends,
                           uint32_t number, bool dones)
{
    const struct mgds_ring_said said = {
        {ends->to, ends->from}, number, -ENOTCONN};

    mgds_ring_pair_reply(
        process, dones ? MGDS_ENVELOPE_RING_MAPPED : MGDS_ENVELOPE_RING_CLOSED,
        &said, sizeof(said));
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
