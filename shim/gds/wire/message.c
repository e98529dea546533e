/* Messages out and in. A post only queues, under a leaf lock: whoever makes
 * the next round hands it to UCX. So a post never waits for the worker, may be
 * made with the matching lock held, and UCX never calls us back inside it. */
#include <errno.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/wire/near.h"
#include "shim/gds/wire/state.h"

enum { MESSAGE_ID = 0 }; /* UCX's; kinds are in the frame */

/* A record, leaf lock held; NULL: no memory. */
static struct mgds_wire_flight *flight_take(void)
{
    struct mgds_wire_flight *flight = TAILQ_FIRST(&mgds_wire.spare);

    if (flight)
        TAILQ_REMOVE(&mgds_wire.spare, flight, link);
    else
        flight = mgds_malloc(sizeof(*flight));
    if (flight)
        atomic_fetch_add(&mgds_wire.under_way, 1);
    return flight;
}

/* Tells the outcome. WIRE held; the flight is in no list. */
static void flight_end(struct mgds_wire_flight *flight, int rc)
{
    if (rc < 0 && flight->peer && mgds_wire_peer_error(flight->peer) < 0)
        rc = mgds_wire_peer_error(flight->peer);
    if (flight->done)
        flight->done(flight->arg, rc);
    mgds_lock_acquire(&mgds_wire.leaf);
    TAILQ_INSERT_HEAD(&mgds_wire.spare, flight, link);
    mgds_lock_release(&mgds_wire.leaf);
    atomic_fetch_sub(&mgds_wire.under_way, 1);
}

void mgds_wire_land(struct mgds_wire_flight *flight, int rc)
{
    TAILQ_REMOVE(&mgds_wire.flights, flight, link);
    flight_end(flight, rc);
}

static bool sendable(const struct mgds_wire_message *message)
{
    return message->kind < MGDS_WIRE_KINDS &&
           message->head_bytes <= MGDS_WIRE_HEAD_BYTES &&
           message->body_bytes <= MGDS_WIRE_MOST_BODY;
}

static void fill(struct mgds_wire_flight *flight, struct mgds_wire_peer *peer,
                 const struct mgds_wire_message *message)
{
    flight->peer = peer;
    flight->body = message->body;
    flight->body_bytes = message->body_bytes;
    flight->done = message->done;
    flight->arg = message->arg;
    flight->frame_bytes = mgds_wire_frame_bytes(message->head_bytes);
    flight->frame.shape = mgds_wire_shape(message->kind, message->body_bytes);
    if (message->head_bytes > 0)
        memcpy(flight->frame.head, message->head, message->head_bytes);
}

int mgds_wire_post(struct mgds_wire_peer *peer,
                   const struct mgds_wire_message *message)
{
    struct mgds_wire_flight *flight;
    int rc = 0;

    if (!peer || !sendable(message))
        return -EINVAL;
    mgds_lock_acquire(&mgds_wire.leaf);
    flight = mgds_wire.accepting ? flight_take() : NULL;
    if (flight) {
        fill(flight, peer, message);
        TAILQ_INSERT_TAIL(&mgds_wire.posts, flight, link);
        atomic_store(&mgds_wire.posted, true);
    } else {
        rc = mgds_wire.accepting ? -ENOMEM : -ENOTCONN;
    }
    mgds_lock_release(&mgds_wire.leaf);
    if (rc == 0)
        mgds_wire_kick();
    return rc;
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    mgds_wire.ucx->ucp_request_free(request);
    mgds_wire_land(arg, mgds_ucx_errno(status));
}

/* WIRE held. A number that is not sent after all is missing for ever, which the
 * receiver bears. */
static void seal(struct mgds_wire_flight *flight)
{
    struct mgds_wire_peer *peer = flight->peer;

    flight->frame.from = mgds_wire.self.process;
    flight->frame.number = ++peer->sent;
    flight->frame.tag =
        mgds_seal_tag(&peer->begun, &flight->frame, flight->frame_bytes);
}

static void hand_over(struct mgds_wire_flight *flight)
{
    /* The memory type is said so that UCX does not ask CUDA. */
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .cb.send = on_sent,
        .user_data = flight,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    void *request;

    seal(flight);
    TAILQ_INSERT_TAIL(&mgds_wire.flights, flight, link);
    if (flight->peer->near) {
        mgds_near_send(flight);
        return;
    }
    request = mgds_wire.ucx->ucp_am_send_nbx(
        flight->peer->endpoint, MESSAGE_ID, &flight->frame, flight->frame_bytes,
        flight->body, flight->body_bytes, &param);
    if (!UCS_PTR_IS_PTR(request))
        mgds_wire_land(flight, mgds_ucx_errno(UCS_PTR_RAW_STATUS(request)));
}

int mgds_wire_submit(void)
{
    struct mgds_wire_flights batch = TAILQ_HEAD_INITIALIZER(batch);
    struct mgds_wire_flight *flight;
    int count = 0;

    /* most rounds find none: they leave the lock to those who post */
    if (!atomic_load(&mgds_wire.posted))
        return 0;
    mgds_lock_acquire(&mgds_wire.leaf);
    atomic_store(&mgds_wire.posted, false);
    TAILQ_CONCAT(&batch, &mgds_wire.posts, link);
    mgds_lock_release(&mgds_wire.leaf);
    while ((flight = TAILQ_FIRST(&batch)) != NULL) {
        int rc = mgds_wire_connect(flight->peer);

        TAILQ_REMOVE(&batch, flight, link);
        if (rc == 0)
            hand_over(flight);
        else
            flight_end(flight, rc);
        count++;
    }
    return count;
}

static void on_received(void *request, ucs_status_t status, size_t bytes,
                        void *arg)
{
    (void)bytes;
    mgds_wire.ucx->ucp_request_free(request);
    mgds_wire_land(arg, mgds_ucx_errno(status));
}

/* UCX fetches the body; data is its descriptor of it. */
static ucs_status_t fetch(const struct mgds_wire_landing *landing, void *data,
                          size_t bytes)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .cb.recv_am = on_received,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    struct mgds_wire_flight *flight;
    void *request;

    mgds_lock_acquire(&mgds_wire.leaf);
    flight = flight_take();
    mgds_lock_release(&mgds_wire.leaf);
    if (!flight) {
        landing->body(landing->arg, -ENOMEM);
        return UCS_ERR_NO_MEMORY;
    }
    flight->peer = NULL;
    flight->done = landing->body;
    flight->arg = landing->arg;
    TAILQ_INSERT_TAIL(&mgds_wire.flights, flight, link);
    param.user_data = flight;
    request = mgds_wire.ucx->ucp_am_recv_data_nbx(
        mgds_wire.worker, data, landing->where, bytes, &param);
    if (!UCS_PTR_IS_PTR(request))
        mgds_wire_land(flight, mgds_ucx_errno(UCS_PTR_RAW_STATUS(request)));
    return UCS_INPROGRESS;
}

/* Counted, and said: once, since who is not of the job shall not fill logs. */
static void refuse(int rc)
{
    if (rc == -EALREADY) {
        mgds_count(frames_replayed);
        mgds_warn_once("a message came over the wire for the second time: "
                       "dropped, as all such are (counted in "
                       "frames_replayed): somebody sends again what was "
                       "recorded");
    } else if (rc == -EBADMSG) {
        mgds_count(frames_forged);
        mgds_warn_once("a message that no process of the job made came over "
                       "the wire: dropped, as all such are (counted in "
                       "frames_forged): somebody else reaches this process, "
                       "or the job loads different libmpix_gds.so");
    } else {
        mgds_warn("no memory for a message that came over the wire: it is "
                  "lost");
    }
}

/* Of the kind, or NULL. */
static const struct mgds_wire_handler *handler_of(unsigned kind)
{
    if (kind < MGDS_WIRE_KINDS && mgds_wire.handlers[kind].head)
        return &mgds_wire.handlers[kind];
    mgds_count(frames_unhandled);
    mgds_warn_once("a wire message of kind %u came and nothing here takes "
                   "that kind: dropped; do all processes of the job load "
                   "the same libmpix_gds.so?",
                   kind);
    return NULL;
}

bool mgds_wire_deliver(const void *header, size_t bytes, size_t body_bytes,
                       struct mgds_wire_landing *out)
{
    const struct mgds_wire_handler *handler;
    struct mgds_wire_arrival it;
    struct mgds_wire_frame frame;
    int rc = mgds_senders_admit(&mgds_wire.senders, &mgds_wire.self, &frame,
                                header, bytes, body_bytes);

    if (rc < 0) {
        refuse(rc);
        return false;
    }
    handler = handler_of(mgds_wire_kind(&frame));
    it = (struct mgds_wire_arrival){.from = frame.from,
                                    .head = frame.head,
                                    .head_bytes =
                                        bytes - mgds_wire_frame_bytes(0),
                                    .body_bytes = body_bytes};
    if (!handler || handler->head(handler->ctx, &it) < 0 || body_bytes == 0)
        return false;
    *out = (struct mgds_wire_landing){it.where, handler->body, it.arg};
    return true;
}

ucs_status_t mgds_wire_arrive(const void *header, size_t bytes, void *data,
                              size_t data_bytes, bool fetched)
{
    struct mgds_wire_landing landing;

    if (!mgds_wire_deliver(header, bytes, data_bytes, &landing))
        return UCS_OK;
    if (!fetched)
        return fetch(&landing, data, data_bytes);
    memcpy(landing.where, data, data_bytes);
    landing.body(landing.arg, 0);
    return UCS_OK;
}

static ucs_status_t on_message(void *ctx, const void *header, size_t bytes,
                               void *data, size_t data_bytes,
                               const ucp_am_recv_param_t *param)
{
    (void)ctx;
    return mgds_wire_arrive(header, bytes, data, data_bytes,
                            !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV));
}

int mgds_wire_receive(void)
{
    const ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id = MESSAGE_ID,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = on_message,
    };

    return mgds_ucx_errno(mgds_wire.ucx->ucp_worker_set_am_recv_handler(
        mgds_wire.worker, &param));
}

int mgds_wire_handle(unsigned kind, const struct mgds_wire_handler *handler)
{
    const struct mgds_wire_handler none = {.head = NULL};

    if (kind >= MGDS_WIRE_KINDS ||
        (handler && (!handler->head || !handler->body)))
        return -EINVAL;
    mgds_lock_acquire(&mgds_wire.lock);
    mgds_wire.handlers[kind] = handler ? *handler : none;
    mgds_lock_release(&mgds_wire.lock);
    return 0;
}

void mgds_wire_cancel_all(void)
{
    struct mgds_wire_flight *flight;

    mgds_lock_acquire(&mgds_wire.leaf);
    TAILQ_CONCAT(&mgds_wire.flights, &mgds_wire.posts, link);
    mgds_lock_release(&mgds_wire.leaf);
    while ((flight = TAILQ_FIRST(&mgds_wire.flights)) != NULL)
        mgds_wire_land(flight, -ECANCELED);
}

void mgds_wire_free_spare(void)
{
    struct mgds_wire_flight *flight;

    mgds_lock_acquire(&mgds_wire.leaf);
    while ((flight = TAILQ_FIRST(&mgds_wire.spare)) != NULL) {
        TAILQ_REMOVE(&mgds_wire.spare, flight, link);
        free(flight);
    }
    mgds_lock_release(&mgds_wire.leaf);
}
