/* Devices, and where their events go. */
#include "sim/hca/front/adapter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/hca/digest.h"
#include "sim/hca/engine.h"
#include "sim/hca/front/event.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/gid.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/key.h"
#include "sim/hca/transit.h"

enum {
    NUMBERS = 1 << 16, /* of QPs or CQs of a device, from 1 on */
    FIRST_QPN = 0x40,  /* the first of every ConnectX are not for programs */
    QPN_SHIFT = 17,
    LAST_PD = 0xffffff,
    LATE_RECORD = 1000 * 1000 * 1000,
    MICROSECOND = 1000
};

static struct mgds_hca_adapter adapters[MGDS_HCA_DEVICES];
static struct mgds_hca_digest digests[MGDS_HCA_DEVICES];

static uint32_t first_qpn(unsigned index)
{
    return (index << QPN_SHIFT) + FIRST_QPN;
}

uint32_t mgds_hca_adapter_slot(const struct mgds_hca_adapter *adapter,
                               uint32_t qpn)
{
    return qpn - first_qpn(adapter->index);
}

static void tell_completion(void *ctx, uint32_t cqn)
{
    const struct mgds_hca_adapter *adapter = ctx;

    mgds_hca_event_completion(adapter->cqs[cqn]);
}

static void tell_qp(struct mgds_hca_verbs_qp *qp, enum mgds_hca_event event)
{
    if (event != MGDS_EVENT_SQ_DRAINED || qp->set.en_sqd_async_notify)
        mgds_hca_event_qp(qp, event);
}

static void tell_event(void *ctx, enum mgds_hca_event event, uint32_t number)
{
    const struct mgds_hca_adapter *adapter = ctx;

    switch (event) {
    case MGDS_EVENT_PORT_ERR:
    case MGDS_EVENT_PORT_ACTIVE:
        mgds_hca_event_port(adapter->index, number, event);
        break;
    case MGDS_EVENT_CQ_ERR:
        mgds_hca_event_cq(adapter->cqs[number], event);
        break;
    case MGDS_EVENT_SRQ_LIMIT:
        mgds_hca_event_srq(adapter->srqs[number], event);
        break;
    default:
        tell_qp(adapter->qps[mgds_hca_adapter_slot(adapter, number)], event);
    }
}

static void tell_misuse(void *ctx, enum mgds_hca_misuse what, uint32_t qpn)
{
    static const char *const said[] = {
        [MGDS_MISUSE_DOORBELL_QPN] = "a doorbell with another QP's number was "
                                     "ignored: put this one into the WQE",
        [MGDS_MISUSE_DOORBELL_INDEX] =
            "a doorbell was ignored whose index is behind, or beyond the ring: "
            "ring with the WQE that was posted last",
        [MGDS_MISUSE_RECORD_BEHIND] =
            "the doorbell record has not followed the doorbell for a second: "
            "write the record first",
    };

    (void)ctx;
    mgds_warn("software HCA: QP 0x%x: %s", qpn, said[what]);
}

static int make_engine(struct mgds_hca_adapter *adapter)
{
    struct mgds_hca_config config = {
        .first_qpn = first_qpn(adapter->index),
        .capabilities = mgds_hca_kind()->capabilities,
        .ethernet = !mgds_hca_is_ib(),
        .late_record = LATE_RECORD,
        .late_write = mgds_hca_settings()->gpu_delay * MICROSECOND,
        .seed = mgds_hca_settings()->seed + adapter->index,
        .digest = mgds_hca_settings()->digest ? &digests[adapter->index] : NULL,
        .wire = mgds_hca_ports_wire(adapter->index),
        .calls = {.event = tell_event,
                  .completion = tell_completion,
                  .misuse = tell_misuse,
                  .ctx = adapter},
    };
    int rc = mgds_hca_create(&adapter->engine, &config);

    if (rc == 0)
        mgds_hca_ports_bind(adapter->index, adapter->engine);
    return rc;
}

static void free_adapter(struct mgds_hca_adapter *adapter)
{
    if (adapter->engine) {
        mgds_hca_ports_bind(adapter->index, NULL);
        mgds_hca_destroy(adapter->engine);
    }
    free(adapter->cqs);
    free(adapter->srqs);
    free(adapter->qps);
    mgds_hca_table_fini(&adapter->pds);
    *adapter = (struct mgds_hca_adapter){0};
}

int mgds_hca_adapter_get(unsigned index, struct mgds_hca_adapter **out)
{
    struct mgds_hca_adapter *adapter = &adapters[index];
    int rc = 0;

    if (adapter->files == 0) {
        adapter->index = index;
        adapter->cqs = calloc(NUMBERS, sizeof(void *));
        adapter->srqs = calloc(NUMBERS, sizeof(void *));
        adapter->qps = calloc(NUMBERS, sizeof(void *));
        rc = adapter->cqs && adapter->srqs && adapter->qps
                 ? make_engine(adapter)
                 : -ENOMEM;
    }
    if (rc < 0) {
        free_adapter(adapter);
        return rc;
    }
    adapter->files++;
    *out = adapter;
    return 0;
}

void mgds_hca_adapter_put(struct mgds_hca_adapter *adapter)
{
    if (--adapter->files == 0)
        free_adapter(adapter);
}

int mgds_hca_adapters_run(void)
{
    int did = 0;

    for (unsigned i = 0; i < MGDS_HCA_DEVICES; i++) {
        if (adapters[i].engine)
            did += mgds_hca_run(adapters[i].engine);
    }
    return did;
}

static void tell_digest(unsigned device, const struct mgds_hca_digest *digest)
{
    if (digest->sent.bytes + digest->placed.bytes > 0)
        mgds_warn("software HCA: mlx5_%u: sent %" PRIu64
                  " bytes, digest %016" PRIx64 "; placed %" PRIu64
                  " bytes, digest %016" PRIx64,
                  device, digest->sent.bytes, digest->sent.sum,
                  digest->placed.bytes, digest->placed.sum);
    if (digest->arrived > 0)
        mgds_warn("software HCA: mlx5_%u: of %" PRIu64
                  " unreliable messages that arrived, %" PRIu64
                  " differ from what was sent",
                  device, digest->arrived, digest->differ);
}

void mgds_hca_adapters_tell_digests(void)
{
    for (unsigned i = 0; i < MGDS_HCA_DEVICES; i++)
        tell_digest(i, &digests[i]);
}

void mgds_hca_adapters_flush(unsigned gpu)
{
    for (unsigned i = 0; i < MGDS_HCA_DEVICES; i++) {
        if (adapters[i].engine)
            mgds_hca_transit_flush(adapters[i].engine, gpu);
    }
}

bool mgds_hca_adapters_reach(const void *at)
{
    for (unsigned i = 0; i < MGDS_HCA_DEVICES; i++) {
        if (adapters[i].engine && mgds_hca_key_reaches(adapters[i].engine, at))
            return true;
    }
    return false;
}

int mgds_hca_adapter_add_pd(struct mgds_hca_adapter *adapter,
                            struct mgds_hca_pd *pd)
{
    pd->number = mgds_hca_table_add(&adapter->pds, pd, 1, LAST_PD);
    return pd->number ? 0 : -ENOMEM;
}

void mgds_hca_adapter_drop_pd(struct mgds_hca_adapter *adapter,
                              const struct mgds_hca_pd *pd)
{
    mgds_hca_table_drop(&adapter->pds, pd->number);
}
