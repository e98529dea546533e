/* What UCX brings: frames, and the bodies behind them; see state.h. */
#include <errno.h>
#include <string.h>

#include "shim/gds/wire/flight.h"
#include "shim/gds/wire/network.h"
#include "shim/gds/wire/state.h"

static void on_received(void *request, ucs_status_t status, size_t bytes,
                        void *arg)
{
    (void)bytes;
    mgds_net.ucx->ucp_request_free(request);
    mgds_flight_land(arg, mgds_ucx_errno(status));
}

/* UCX fetches the body; data is its descriptor of it. */
static ucs_status_t fetch_body(const struct mgds_wire_landing *landing,
                               void *data, size_t bytes)
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
    flight = mgds_flight_take();
    mgds_lock_release(&mgds_wire.leaf);
    if (!flight) {
        landing->body(landing->arg, -ENOMEM);
        return UCS_ERR_NO_MEMORY;
    }
    flight->peer = NULL;
    flight->done = landing->body;
    flight->arg = landing->arg;
    mgds_flight_begin(flight);
    param.user_data = flight;
    request = mgds_net.ucx->ucp_am_recv_data_nbx(mgds_net.worker, data,
                                                 landing->where, bytes, &param);
    if (!UCS_PTR_IS_PTR(request))
        mgds_flight_land(flight, mgds_ucx_errno(UCS_PTR_RAW_STATUS(request)));
    return UCS_INPROGRESS;
}

ucs_status_t mgds_wire_arrive(const void *header, size_t bytes, void *data,
                              size_t data_bytes, bool fetched)
{
    struct mgds_wire_landing landing;

    if (!mgds_wire_deliver(header, bytes, data_bytes, &landing))
        return UCS_OK;
    if (!fetched)
        return fetch_body(&landing, data, data_bytes);
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
        .id = MGDS_WIRE_MESSAGE_ID,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = on_message,
    };

    return mgds_ucx_errno(
        mgds_net.ucx->ucp_worker_set_am_recv_handler(mgds_net.worker, &param));
}
