/* Messages out and in. A post only queues, under a leaf lock: whoever makes
 * the next round hands it to UCX. So a post never waits for the worker, may be
 * made with the matching lock held, and UCX never calls us back inside it. */
#include <errno.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/wire/state.h"

enum { MESSAGE_ID = 0 }; /* UCX's; kinds are in the frame */

static size_t frame_bytes(size_t head_bytes)
{
    return offsetof(struct mgds_wire_frame, head) + head_bytes;
}

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

static void flight_land(struct mgds_wire_flight *flight, int rc)
{
    TAILQ_REMOVE(&mgds_wire.flights, flight, link);
    flight_end(flight, rc);
}

static bool sendable(const struct mgds_wire_message *message)
{
    return message->kind < MGDS_WIRE_KINDS &&
           message->head_bytes <= MGDS_WIRE_HEAD_BYTES;
}

static void fill(struct mgds_wire_flight *flight, struct mgds_wire_peer *peer,
                 const struct mgds_wire_message *message)
{
    flight->peer = peer;
    flight->body = message->body;
    flight->body_bytes = message->body_bytes;
    flight->done = message->done;
    flight->arg = message->arg;
    flight->frame.kind = message->kind;
    flight->frame.head_bytes = (uint32_t)message->head_bytes;
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
    flight_land(arg, mgds_ucx_errno(status));
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

    TAILQ_INSERT_TAIL(&mgds_wire.flights, flight, link);
    request = mgds_wire.ucx->ucp_am_send_nbx(
        flight->peer->endpoint, MESSAGE_ID, &flight->frame,
        frame_bytes(flight->frame.head_bytes), flight->body, flight->body_bytes,
        &param);
    if (!UCS_PTR_IS_PTR(request))
        flight_land(flight, mgds_ucx_errno(UCS_PTR_RAW_STATUS(request)));
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

/* A message as it came, and where its body shall go. */
struct arrival {
    const struct mgds_wire_handler *handler;
    void *data; /* the body, or UCX's descriptor of it */
    size_t bytes;
    void *where;
    void *arg;
};

static void on_received(void *request, ucs_status_t status, size_t bytes,
                        void *arg)
{
    (void)bytes;
    mgds_wire.ucx->ucp_request_free(request);
    flight_land(arg, mgds_ucx_errno(status));
}

/* UCX fetches the body. */
static ucs_status_t fetch(const struct arrival *it)
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
        it->handler->body(it->arg, -ENOMEM);
        return UCS_ERR_NO_MEMORY;
    }
    flight->peer = NULL;
    flight->done = it->handler->body;
    flight->arg = it->arg;
    TAILQ_INSERT_TAIL(&mgds_wire.flights, flight, link);
    param.user_data = flight;
    request = mgds_wire.ucx->ucp_am_recv_data_nbx(mgds_wire.worker, it->data,
                                                  it->where, it->bytes, &param);
    if (!UCS_PTR_IS_PTR(request))
        flight_land(flight, mgds_ucx_errno(UCS_PTR_RAW_STATUS(request)));
    return UCS_INPROGRESS;
}

static ucs_status_t take(struct arrival *it,
                         const struct mgds_wire_frame *frame, bool fetched)
{
    int rc = it->handler->head(it->handler->ctx, frame->head, frame->head_bytes,
                               it->bytes, &it->where, &it->arg);

    if (it->bytes == 0 || rc < 0)
        return UCS_OK;
    if (!fetched)
        return fetch(it);
    memcpy(it->where, it->data, it->bytes);
    it->handler->body(it->arg, 0);
    return UCS_OK;
}

/* The handler, or NULL: nothing that we could have sent. */
static const struct mgds_wire_handler *
handler_of(const struct mgds_wire_frame *frame, size_t bytes)
{
    if (bytes < frame_bytes(0) || bytes != frame_bytes(frame->head_bytes) ||
        frame->kind >= MGDS_WIRE_KINDS) {
        mgds_warn_once("a message that is not ours came over the wire: do all "
                       "processes of the job load the same libmpix_gds.so?");
        return NULL;
    }
    if (!mgds_wire.handlers[frame->kind].head) {
        mgds_warn_once("a wire message of kind %u came and nothing here takes "
                       "that kind: dropped; do all processes of the job load "
                       "the same libmpix_gds.so?",
                       frame->kind);
        return NULL;
    }
    return &mgds_wire.handlers[frame->kind];
}

static ucs_status_t on_message(void *ctx, const void *header, size_t bytes,
                               void *data, size_t data_bytes,
                               const ucp_am_recv_param_t *param)
{
    struct mgds_wire_frame frame = {.kind = MGDS_WIRE_KINDS};
    struct arrival it = {.data = data, .bytes = data_bytes};

    (void)ctx;
    /* UCX aligns nothing; handlers want to read structs. */
    if (bytes <= sizeof(frame))
        memcpy(&frame, header, bytes);
    it.handler = handler_of(&frame, bytes);
    if (!it.handler)
        return UCS_OK;
    return take(&it, &frame, !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV));
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
        flight_land(flight, -ECANCELED);
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
