/* Connections of DCTs: they come with calls, and go. */
#include "sim/hca/dct.h"

#include <stdbool.h>
#include <stddef.h>

#include "sim/hca/engine.h"
#include "sim/hca/qp.h"
#include "sim/hca/receive.h"

struct mgds_hca_qp *mgds_hca_dct_find(const struct mgds_hca_qp *dct,
                                      uint16_t lid, uint32_t from)
{
    struct mgds_hca_qp *it = dct->dc.connections;

    while (it && (it->set.peer != from || it->set.address.lid != lid))
        it = it->dc.next;
    return it;
}

void mgds_hca_dct_hang_up(struct mgds_hca_qp *connection)
{
    struct mgds_hca_qp *dct = connection->dc.dct;
    struct mgds_hca_qp **at = &dct->dc.connections;

    while (*at != connection)
        at = &(*at)->dc.next;
    *at = connection->dc.next;
    dct->dc.count--;
    mgds_hca_receive_flush(connection);
    mgds_hca_qp_detach(connection);
}

void mgds_hca_dct_close(struct mgds_hca_qp *dct)
{
    while (dct->dc.connections)
        mgds_hca_dct_hang_up(dct->dc.connections);
}

static void make_room(struct mgds_hca_qp *dct)
{
    struct mgds_hca_qp *oldest = dct->dc.connections;

    if (dct->dc.count < MGDS_HCA_CONNECTIONS)
        return;
    while (oldest->dc.next)
        oldest = oldest->dc.next;
    mgds_hca_dct_hang_up(oldest);
}

static void connect(struct mgds_hca_qp *it, struct mgds_hca_qp *dct,
                    const struct mgds_hca_call *call)
{
    struct mgds_hca_change change = dct->set;

    it->dc.dct = dct;
    it->dc.epoch = call->epoch;
    it->dc.next = dct->dc.connections;
    dct->dc.connections = it;
    dct->dc.count++;
    change.state = MGDS_STATE_INIT;
    mgds_hca_qp_modify(it, &change);
    change.state = MGDS_STATE_RTR;
    change.peer = call->from;
    change.receive_psn = call->psn;
    change.address = (struct mgds_hca_address){.lid = call->lid};
    mgds_hca_qp_modify(it, &change);
}

/* The connection has the DCT's attributes; a DCT has no rings that a program
 * writes to. */
static struct mgds_hca_qp *make_connection(struct mgds_hca_qp *dct,
                                           const struct mgds_hca_call *call)
{
    struct mgds_hca_qp *it;

    make_room(dct);
    if (mgds_hca_qp_attach(dct->hca, &dct->attr, &it) < 0)
        return NULL;
    connect(it, dct, call);
    return it;
}

static bool is_open(const struct mgds_hca_qp *dct)
{
    return dct->state == MGDS_STATE_RTR;
}

enum mgds_hca_cause mgds_hca_dct_accept(struct mgds_hca_qp *dct,
                                        const struct mgds_hca_call *call,
                                        struct mgds_hca_qp **out)
{
    struct mgds_hca_qp *known = mgds_hca_dct_find(dct, call->lid, call->from);

    *out = NULL;
    if (!is_open(dct) || (known && known->dc.epoch > call->epoch))
        return MGDS_CAUSE_NONE;
    if (call->key != dct->attr.dc_key)
        return MGDS_CAUSE_DC_KEY;
    if (known && known->dc.epoch == call->epoch) {
        *out = known;
        return MGDS_CAUSE_NONE;
    }
    if (known)
        mgds_hca_dct_hang_up(known);
    *out = make_connection(dct, call);
    return MGDS_CAUSE_NONE;
}
