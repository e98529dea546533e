/* Peers: one table of records by process; see peer.h. */
#include "shim/gds/wire/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/base/log.h"
#include "shim/gds/wire/seal.h"
#include "shim/gds/wire/state.h"

enum { BUCKETS = 256 };

LIST_HEAD(bucket, mgds_wire_peer);

static struct {
    /* some peer is given up; set when its given_up is */
    _Alignas(MGDS_WIRE_LINE) atomic_bool giving_up;
    TAILQ_HEAD(, mgds_wire_peer) lost; /* WIRE lock: to be buried */
    struct bucket bucket[BUCKETS];     /* leaf lock */
} peers = {.lost = TAILQ_HEAD_INITIALIZER(peers.lost)};

static struct bucket *bucket_of(uint64_t process)
{
    return &peers.bucket[process % BUCKETS]; /* it is random */
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

static struct mgds_wire_peer *make_peer(const struct mgds_wire_identity *who,
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
        peer = make_peer(who, near);
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
    atomic_store(&peers.giving_up, true);
    mgds_wire_kick();
    return true;
}

bool mgds_wire_peer_is_connected(const struct mgds_wire_peer *peer)
{
    return atomic_load_explicit(&peer->posted, memory_order_relaxed);
}

uint64_t mgds_wire_peer_process(const struct mgds_wire_peer *peer)
{
    return peer->who.process;
}

int mgds_wire_peer_error(const struct mgds_wire_peer *peer)
{
    return atomic_load(&peer->error);
}

void mgds_wire_peers_visit(void (*visit)(struct mgds_wire_peer *peer,
                                         void *arg),
                           void *arg)
{
    struct mgds_wire_peer *peer;

    for (unsigned i = 0; i < BUCKETS; i++) {
        LIST_FOREACH(peer, &peers.bucket[i], link)
        {
            visit(peer, arg);
        }
    }
}

void mgds_wire_lose(struct mgds_wire_peer *peer, int rc)
{
    if (peer->stage != MGDS_WIRE_OPEN)
        return;
    peer->stage = MGDS_WIRE_LOST;
    atomic_store(&peer->error, rc);
    TAILQ_INSERT_TAIL(&peers.lost, peer, lost_link);
    errno = -rc;
    mgds_debug("wire: a peer is lost: %m");
}

void mgds_wire_lose_given_up(void)
{
    struct mgds_wire_peer *peer;

    if (!atomic_load(&peers.giving_up))
        return;
    atomic_store(&peers.giving_up, false);
    mgds_lock_acquire(&mgds_wire.leaf);
    for (unsigned i = 0; i < BUCKETS; i++) {
        LIST_FOREACH(peer, &peers.bucket[i], link)
        {
            if (atomic_load(&peer->given_up))
                mgds_wire_lose(peer, -ETIMEDOUT);
        }
    }
    mgds_lock_release(&mgds_wire.leaf);
}

struct mgds_wire_peer *mgds_wire_take_lost(void)
{
    struct mgds_wire_peer *peer = TAILQ_FIRST(&peers.lost);

    if (peer)
        TAILQ_REMOVE(&peers.lost, peer, lost_link);
    return peer;
}

/* Leaf lock held. */
static void forget_peer(struct mgds_wire_peer *peer)
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

    TAILQ_INIT(&peers.lost);
    mgds_lock_acquire(&mgds_wire.leaf);
    for (unsigned i = 0; i < BUCKETS; i++) {
        while ((peer = LIST_FIRST(&peers.bucket[i])) != NULL)
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
            forget_peer(peer);
    }
    mgds_lock_release(&mgds_wire.leaf);
}
