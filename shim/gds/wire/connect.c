/* Connections to peers, through memory of the host or by UCX: made by the first
 * message and kept until the wire closes, because the other side sees a closed
 * end as a death. */
#include <errno.h>

#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/wire/near.h"
#include "shim/gds/wire/network.h"
#include "shim/gds/wire/peer.h"
#include "shim/gds/wire/state.h"

enum { NET = MGDS_WIRE_WORKER_NET };

/* WIRE lock. */
static mgds_wire_lost *on_lost; /* NULL: nobody is told */
static void *lost_ctx;
static unsigned closing; /* endpoint closes under way */

void mgds_wire_on_lost(mgds_wire_lost *lost, void *ctx)
{
    mgds_lock_acquire(&mgds_wire.lock);
    on_lost = lost;
    lost_ctx = ctx;
    mgds_lock_release(&mgds_wire.lock);
}

static bool is_known(uint64_t process)
{
    bool known;

    mgds_lock_acquire(&mgds_wire.leaf);
    known = mgds_wire_peer_look(process) != NULL;
    mgds_lock_release(&mgds_wire.leaf);
    return known;
}

int mgds_wire_peer_get(struct mgds_wire_peer **out, const void *address,
                       size_t bytes)
{
    struct mgds_wire_identity who;
    int rc = mgds_wire_address_read(&who, address, bytes);
    bool near;

    if (rc < 0)
        return rc;
    /* Files are opened: not with the lock. */
    near = !is_known(who.process) && mgds_near_reaches(&who);
    mgds_lock_acquire(&mgds_wire.leaf);
    rc = mgds_wire_peer_take(out, &who, near);
    mgds_lock_release(&mgds_wire.leaf);
    return rc;
}

bool mgds_wire_near(const void *address, size_t bytes)
{
    struct mgds_wire_identity who;

    return mgds_wire_address_read(&who, address, bytes) == 0 &&
           mgds_near_reaches(&who);
}

/* UCX says that the peer is gone. The endpoint may not be closed in here. */
static void on_error(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint;
    mgds_wire_lose(arg, mgds_ucx_errno(status));
}

/* The connection is no more. */
static void peer_closed(struct mgds_wire_peer *peer)
{
    bool was_lost = peer->stage == MGDS_WIRE_LOST;

    peer->stage = MGDS_WIRE_GONE;
    peer->endpoint = NULL;
    peer->closing = NULL;
    if (was_lost && on_lost)
        on_lost(lost_ctx, peer, mgds_wire_peer_error(peer));
}

static int make_endpoint(struct mgds_wire_peer *peer)
{
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)peer->who.worker[NET].address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = on_error, .arg = peer},
    };
    ucs_status_t status;

    if (!mgds_net.worker || peer->who.worker[NET].bytes == 0)
        return -EHOSTUNREACH;
    status =
        mgds_net.ucx->ucp_ep_create(mgds_net.worker, &params, &peer->endpoint);
    if (status == UCS_OK)
        return 0;
    mgds_warn_once("UCX cannot reach another process of the job: %s: it needs "
                   "a transport that tells when a peer is gone; add tcp to "
                   "MPIX_GDS_UCX_TLS and check MPIX_GDS_UCX_NET_DEVICES",
                   mgds_net.ucx->ucs_status_string(status));
    return mgds_ucx_errno(status);
}

/* Never to be tried again. */
static int fail_connect(struct mgds_wire_peer *peer, int rc)
{
    atomic_store(&peer->error, rc);
    peer->stage = MGDS_WIRE_LOST;
    peer_closed(peer);
    return rc;
}

static int make_connection(struct mgds_wire_peer *peer)
{
    int rc = peer->near ? mgds_near_connect(peer) : make_endpoint(peer);

    if (rc < 0)
        return fail_connect(peer, rc);
    peer->stage = MGDS_WIRE_OPEN;
    mgds_count(wire_connections);
    return 0;
}

int mgds_wire_connect(struct mgds_wire_peer *peer)
{
    if (peer->stage == MGDS_WIRE_FRESH)
        return make_connection(peer);
    return peer->stage == MGDS_WIRE_OPEN ? 0 : mgds_wire_peer_error(peer);
}

static void on_closed(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    mgds_net.ucx->ucp_request_free(request);
    closing--;
    peer_closed(arg);
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
    void *request = mgds_net.ucx->ucp_ep_close_nbx(peer->endpoint, &param);

    if (UCS_PTR_IS_PTR(request)) {
        peer->closing = request;
        closing++;
    } else {
        peer_closed(peer);
    }
}

/* A ring is given back at once. */
static void close_connection(struct mgds_wire_peer *peer, bool force)
{
    if (!peer->near) {
        close_endpoint(peer, force);
        return;
    }
    mgds_near_disconnect(peer);
    peer_closed(peer);
}

int mgds_wire_bury(void)
{
    struct mgds_wire_peer *peer;
    int count = 0;

    while ((peer = mgds_wire_take_lost()) != NULL) {
        close_connection(peer, true);
        count++;
    }
    return count;
}

static void close_open(struct mgds_wire_peer *peer, void *force)
{
    if (peer->stage == MGDS_WIRE_OPEN)
        close_connection(peer, *(const bool *)force);
}

void mgds_wire_close_peers(bool force)
{
    mgds_wire_peers_visit(close_open, &force);
}

unsigned mgds_wire_closes(void)
{
    return closing;
}

/* UCX calls nobody back of what is freed like that. */
static void forget_close(struct mgds_wire_peer *peer, void *arg)
{
    (void)arg;
    if (!peer->closing)
        return;
    mgds_net.ucx->ucp_request_free(peer->closing);
    closing--;
    peer_closed(peer);
}

void mgds_wire_forget_closes(void)
{
    mgds_wire_peers_visit(forget_close, NULL);
}
