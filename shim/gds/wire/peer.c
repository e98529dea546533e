/* Peers and their endpoints. One list of records by address; an endpoint is
 * made by the first message and kept until the wire closes, because the other
 * side sees a closed end as a death. */
#include <errno.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/wire/state.h"

static struct mgds_wire_bucket *bucket_of(const char *address, size_t bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)address[i]) * 16777619u;
    return &mgds_wire.peers[hash % MGDS_WIRE_BUCKETS];
}

static struct mgds_wire_peer *find(const struct mgds_wire_bucket *bucket,
                                   const char *address, size_t bytes)
{
    struct mgds_wire_peer *peer;

    LIST_FOREACH(peer, bucket, link)
    {
        if (peer->bytes == bytes && memcmp(peer->address, address, bytes) == 0)
            return peer;
    }
    return NULL;
}

static struct mgds_wire_peer *make(const char *address, size_t bytes)
{
    struct mgds_wire_peer *peer = mgds_calloc(1, sizeof(*peer) + bytes);

    if (!peer)
        return NULL;
    peer->listed = true;
    peer->bytes = bytes;
    memcpy(peer->address, address, bytes);
    return peer;
}

/* Leaf lock held. */
static int get(struct mgds_wire_peer **out, const char *address, size_t bytes)
{
    struct mgds_wire_bucket *bucket = bucket_of(address, bytes);
    struct mgds_wire_peer *peer;

    if (!mgds_wire.accepting)
        return -ENOTCONN;
    peer = find(bucket, address, bytes);
    if (!peer) {
        peer = make(address, bytes);
        if (!peer)
            return -ENOMEM;
        LIST_INSERT_HEAD(bucket, peer, link);
    }
    peer->refs++;
    *out = peer;
    return 0;
}

int mgds_wire_peer_get(struct mgds_wire_peer **out, const void *address,
                       size_t bytes)
{
    int rc;

    if (!address || bytes == 0)
        return -EINVAL;
    mgds_lock_acquire(&mgds_wire.leaf);
    rc = get(out, address, bytes);
    mgds_lock_release(&mgds_wire.leaf);
    return rc;
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

/* UCX says that the peer is gone. The endpoint may not be closed in here. */
static void on_error(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    struct mgds_wire_peer *peer = arg;

    (void)endpoint;
    if (peer->stage != MGDS_WIRE_OPEN)
        return;
    peer->stage = MGDS_WIRE_LOST;
    atomic_store(&peer->error, mgds_ucx_errno(status));
    TAILQ_INSERT_TAIL(&mgds_wire.lost, peer, lost_link);
    mgds_debug("wire: a peer is lost: %s",
               mgds_wire.ucx->ucs_status_string(status));
}

/* The endpoint is no more. */
static void closed(struct mgds_wire_peer *peer)
{
    bool was_lost = peer->stage == MGDS_WIRE_LOST;

    peer->stage = MGDS_WIRE_GONE;
    peer->endpoint = NULL;
    if (was_lost && mgds_wire.on_lost)
        mgds_wire.on_lost(mgds_wire.lost_ctx, peer, mgds_wire_peer_error(peer));
}

static int make_endpoint(struct mgds_wire_peer *peer)
{
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)peer->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = on_error, .arg = peer},
    };
    ucs_status_t status = mgds_wire.ucx->ucp_ep_create(
        mgds_wire.worker, &params, &peer->endpoint);

    if (status == UCS_OK) {
        peer->stage = MGDS_WIRE_OPEN;
        return 0;
    }
    mgds_warn_once("UCX cannot reach another process of the job: %s: it needs "
                   "a transport that tells when a peer is gone; add tcp to "
                   "MPIX_GDS_UCX_TLS and check MPIX_GDS_UCX_NET_DEVICES",
                   mgds_wire.ucx->ucs_status_string(status));
    atomic_store(&peer->error, mgds_ucx_errno(status));
    peer->stage = MGDS_WIRE_LOST;
    closed(peer);
    return mgds_wire_peer_error(peer);
}

int mgds_wire_connect(struct mgds_wire_peer *peer)
{
    if (peer->stage == MGDS_WIRE_FRESH)
        return make_endpoint(peer);
    return peer->stage == MGDS_WIRE_OPEN ? 0 : mgds_wire_peer_error(peer);
}

static void on_closed(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    mgds_wire.ucx->ucp_request_free(request);
    mgds_wire.closing--;
    closed(arg);
}

static void close_endpoint(struct mgds_wire_peer *peer, bool force)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0,
        .cb.send = on_closed,
        .user_data = peer,
    };
    void *request = mgds_wire.ucx->ucp_ep_close_nbx(peer->endpoint, &param);

    if (UCS_PTR_IS_PTR(request))
        mgds_wire.closing++;
    else
        closed(peer);
}

int mgds_wire_bury(void)
{
    struct mgds_wire_peer *peer;
    int count = 0;

    while ((peer = TAILQ_FIRST(&mgds_wire.lost)) != NULL) {
        TAILQ_REMOVE(&mgds_wire.lost, peer, lost_link);
        close_endpoint(peer, true);
        count++;
    }
    return count;
}

void mgds_wire_close_peers(bool force)
{
    struct mgds_wire_peer *peer;

    /* The table does not change: nothing is accepted any more. */
    for (unsigned i = 0; i < MGDS_WIRE_BUCKETS; i++) {
        LIST_FOREACH(peer, &mgds_wire.peers[i], link)
        {
            if (peer->stage == MGDS_WIRE_OPEN)
                close_endpoint(peer, force);
        }
    }
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
            forget(peer);
    }
    mgds_lock_release(&mgds_wire.leaf);
}
