/* Peers: one table of records by process; see state.h. */
#include <errno.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/base/log.h"
#include "shim/gds/wire/state.h"

static struct mgds_wire_bucket *bucket_of(uint64_t process)
{
    return &mgds_wire.peers[process % MGDS_WIRE_BUCKETS]; /* it is random */
}

struct mgds_wire_peer *mgds_wire_peer_look(uint64_t process)
{
    struct mgds_wire_peer *peer;

    LIST_FOREACH(peer, bucket_of(process), link)
    {
        if (peer->who.process == process)
            return peer;
    }
    return NULL;
}

static struct mgds_wire_peer *make(const struct mgds_wire_identity *who,
                                   bool near)
{
    size_t bytes = mgds_wire_address_bytes(who);
    struct mgds_wire_peer *peer = mgds_calloc(1, sizeof(*peer) + bytes);

    if (!peer)
        return NULL;
    peer->listed = true;
    peer->near = near;
    peer->sent = MGDS_COUNT_FROM;
    mgds_wire_address_write(peer->address, who);
    mgds_wire_address_read(&peer->who, peer->address, bytes);
    peer->begun =
        mgds_seal_begin(&who->key, mgds_wire.self.process, who->process);
    return peer;
}

static bool same_key(const struct mgds_wire_identity *a,
                     const struct mgds_wire_identity *b)
{
    return memcmp(&a->key, &b->key, sizeof(a->key)) == 0;
}

int mgds_wire_peer_take(struct mgds_wire_peer **out,
                        const struct mgds_wire_identity *who, bool near)
{
    struct mgds_wire_peer *peer;

    if (!mgds_wire.accepting)
        return -ENOTCONN;
    peer = mgds_wire_peer_look(who->process);
    if (peer && !same_key(&peer->who, who))
        return -EINVAL;
    if (!peer) {
        peer = make(who, near);
        if (!peer)
            return -ENOMEM;
        LIST_INSERT_HEAD(bucket_of(who->process), peer, link);
    }
    peer->refs++;
    *out = peer;
    return 0;
}

void mgds_wire_peer_put(struct mgds_wire_peer *peer)
{
    bool last;

    if (!peer)
        return;
    mgds_lock_acquire(&mgds_wire.leaf);
    last = --peer->refs == 0 && !peer->listed;
    mgds_lock_release(&mgds_wire.leaf);
    if (last)
        free(peer);
}

struct mgds_wire_peer *mgds_wire_peer_find(uint64_t process)
{
    struct mgds_wire_peer *peer;

    mgds_lock_acquire(&mgds_wire.leaf);
    peer = mgds_wire_peer_look(process);
    if (peer)
        peer->refs++;
    mgds_lock_release(&mgds_wire.leaf);
    return peer;
}

bool mgds_wire_peer_give_up(struct mgds_wire_peer *peer)
{
    if (atomic_exchange(&peer->given_up, true))
        return false;
    atomic_store(&mgds_wire.giving_up, true);
    mgds_wire_kick();
    return true;
}

uint64_t mgds_wire_peer_process(const struct mgds_wire_peer *peer)
{
    return peer->who.process;
}

int mgds_wire_peer_error(const struct mgds_wire_peer *peer)
{
    return atomic_load(&peer->error);
}

void mgds_wire_on_lost(mgds_wire_lost *lost, void *ctx)
{
    mgds_lock_acquire(&mgds_wire.lock);
    mgds_wire.on_lost = lost;
    mgds_wire.lost_ctx = ctx;
    mgds_lock_release(&mgds_wire.lock);
}

void mgds_wire_lose(struct mgds_wire_peer *peer, int rc)
{
    if (peer->stage != MGDS_WIRE_OPEN)
        return;
    peer->stage = MGDS_WIRE_LOST;
    atomic_store(&peer->error, rc);
    TAILQ_INSERT_TAIL(&mgds_wire.lost, peer, lost_link);
    errno = -rc;
    mgds_debug("wire: a peer is lost: %m");
}

void mgds_wire_lose_given_up(void)
{
    struct mgds_wire_peer *peer;

    if (!atomic_load(&mgds_wire.giving_up))
        return;
    atomic_store(&mgds_wire.giving_up, false);
    mgds_lock_acquire(&mgds_wire.leaf);
    for (unsigned i = 0; i < MGDS_WIRE_BUCKETS; i++) {
        LIST_FOREACH(peer, &mgds_wire.peers[i], link)
        {
            if (atomic_load(&peer->given_up))
                mgds_wire_lose(peer, -ETIMEDOUT);
        }
    }
    mgds_lock_release(&mgds_wire.leaf);
}

/* Leaf lock held. */
static void forget(struct mgds_wire_peer *peer)
{
    LIST_REMOVE(peer, link);
    peer->listed = false;
    peer->stage = MGDS_WIRE_GONE;
    peer->endpoint = NULL;
    atomic_store(&peer->error, -ENOTCONN);
    if (peer->refs == 0)
        free(peer);
}

void mgds_wire_forget_peers(void)
{
    struct mgds_wire_peer *peer;

    mgds_lock_acquire(&mgds_wire.leaf);
    for (unsigned i = 0; i < MGDS_WIRE_BUCKETS; i++) {
        while ((peer = LIST_FIRST(&mgds_wire.peers[i])) != NULL)
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
            forget(peer);
    }
    mgds_lock_release(&mgds_wire.leaf);
}
