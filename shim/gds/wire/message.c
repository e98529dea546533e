/* Messages out. A post only queues, under a leaf lock: whoever makes
 * the next round hands it to UCX. So a post never waits for the worker, may be
 * made with the matching lock held, and UCX never calls us back inside it. */
#include <errno.h>
#include <string.h>

#include "shim/gds/wire/flight.h"
#include "shim/gds/wire/near.h"
#include "shim/gds/wire/network.h"
#include "shim/gds/wire/peer.h"
#include "shim/gds/wire/seal.h"
#include "shim/gds/wire/state.h"

static bool is_sendable(const struct mgds_wire_message *message)
{
    return message->kind < MGDS_WIRE_KINDS &&
           message->head_bytes <= MGDS_WIRE_HEAD_BYTES &&
           message->body_bytes <= MGDS_WIRE_MOST_BODY;
}

static void fill_flight(struct mgds_wire_flight *flight,
                        struct mgds_wire_peer *peer,
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

    if (!peer || !is_sendable(message))
        return -EINVAL;
    mgds_lock_acquire(&mgds_wire.leaf);
    flight = mgds_wire.accepting ? mgds_flight_take() : NULL;
    if (flight) {
        atomic_store_explicit(&peer->posted, true, memory_order_relaxed);
        fill_flight(flight, peer, message);
        mgds_flight_post(flight);
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
    mgds_net.ucx->ucp_request_free(request);
    mgds_flight_land(arg, mgds_ucx_errno(status));
}

/* WIRE held. A number that is not sent after all is missing for ever, which the
 * receiver bears. */
static void seal_flight(struct mgds_wire_flight *flight)
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

    seal_flight(flight);
    mgds_flight_begin(flight);
    if (flight->peer->near) {
        mgds_near_send(flight);
        return;
    }
    request = mgds_net.ucx->ucp_am_send_nbx(
        flight->peer->endpoint, MGDS_WIRE_MESSAGE_ID, &flight->frame,
        flight->frame_bytes, flight->body, flight->body_bytes, &param);
    if (!UCS_PTR_IS_PTR(request))
        mgds_flight_land(flight, mgds_ucx_errno(UCS_PTR_RAW_STATUS(request)));
}

int mgds_wire_submit(void)
{
    struct mgds_wire_flights batch = TAILQ_HEAD_INITIALIZER(batch);
    struct mgds_wire_flight *flight;
    int count = 0;

    if (!mgds_flights_take_posted(&batch))
        return 0;
    while ((flight = TAILQ_FIRST(&batch)) != NULL) {
        int rc = mgds_wire_connect(flight->peer);

        TAILQ_REMOVE(&batch, flight, link);
        if (rc == 0)
            hand_over(flight);
        else
            mgds_flight_end(flight, rc);
        count++;
    }
    return count;
}
