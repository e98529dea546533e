/* The device: what belongs to it, and its rounds. */
#include "sim/hca/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "sim/hca/doorbell.h"
#include "sim/hca/qp.h"
#include "sim/hca/requester.h"
#include "sim/hca/transit.h"

int mgds_hca_create(struct mgds_hca **out, const struct mgds_hca_config *config)
{
    struct mgds_hca *hca = calloc(1, sizeof(*hca));

    if (!hca)
        return -ENOMEM;
    hca->config = *config;
    *out = hca;
    return 0;
}

void mgds_hca_destroy(struct mgds_hca *hca)
{
    for (uint32_t i = 0; i < hca->keys.slots; i++)
        free(hca->keys.slot[i]);
    mgds_hca_transit_fini(hca);
    mgds_hca_table_fini(&hca->keys);
    mgds_hca_table_fini(&hca->cqs);
    mgds_hca_table_fini(&hca->srqs);
    mgds_hca_table_fini(&hca->qps);
    free(hca);
}

struct mgds_hca_qp *mgds_hca_qp_find(const struct mgds_hca *hca, uint32_t qpn)
{
    return mgds_hca_table_find(&hca->qps, qpn - hca->config.first_qpn);
}

void mgds_hca_busy(struct mgds_hca *hca, struct mgds_hca_qp *qp)
{
    if (qp->busy)
        return;
    qp->busy = true;
    qp->next_busy = hca->busy;
    hca->busy = qp;
}

static void drop_busy(struct mgds_hca_qp **at, struct mgds_hca_qp *qp)
{
    while (*at && *at != qp)
        at = &(*at)->next_busy;
    if (*at)
        *at = qp->next_busy;
}

void mgds_hca_unbusy(struct mgds_hca *hca, struct mgds_hca_qp *qp)
{
    if (!qp->busy)
        return;
    drop_busy(&hca->busy, qp);
    drop_busy(&hca->turn, qp);
    qp->busy = false;
}

/* Each busy QP once. Requests make others busy, which are behind those that
 * are taken here. */
static int run_busy(struct mgds_hca *hca)
{
    struct mgds_hca_qp *qp;
    int did = 0;

    hca->turn = hca->busy;
    hca->busy = NULL;
    while ((qp = hca->turn)) {
        hca->turn = qp->next_busy;
        qp->busy = false;
        did += mgds_hca_requester_run(qp);
        if (mgds_hca_requester_busy(qp))
            mgds_hca_busy(hca, qp);
    }
    return did;
}

static int run_round(struct mgds_hca *hca)
{
    const struct mgds_hca_wire *wire = &hca->config.wire;
    int did = 0;

    hca->in_round = true;
    hca->time = 0;
    for (struct mgds_hca_uar *uar = hca->uars; uar; uar = uar->next)
        did += mgds_hca_uar_poll(uar);
    did += hca->busy ? run_busy(hca) : 0;
    did += wire->poll ? wire->poll(wire->ctx) : 0;
    did += mgds_hca_transit_run(hca);
    hca->in_round = false;
    return did;
}

int mgds_hca_run(struct mgds_hca *hca)
{
    int did = 0, now;

    for (int round = 0; round < MGDS_HCA_ROUNDS; round++) {
        now = run_round(hca);
        if (now == 0)
            break;
        did += now;
    }
    for (struct mgds_hca_qp *qp = hca->busy; qp; qp = qp->next_busy)
        mgds_hca_doorbell_check(qp);
    return did;
}

static uint64_t read_monotonic_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t read_clock(const struct mgds_hca *hca)
{
    const struct mgds_hca_calls *calls = &hca->config.calls;

    return calls->clock ? calls->clock(calls->ctx) : read_monotonic_clock();
}

/* Reading the clock takes as long as a small message. */
uint64_t mgds_hca_now(struct mgds_hca *hca)
{
    if (!hca->in_round)
        return read_clock(hca);
    if (hca->time == 0)
        hca->time = read_clock(hca);
    return hca->time;
}

void mgds_hca_tell_event(const struct mgds_hca *hca, enum mgds_hca_event event,
                         uint32_t number)
{
    const struct mgds_hca_calls *calls = &hca->config.calls;

    if (calls->event)
        calls->event(calls->ctx, event, number);
}

void mgds_hca_tell_completion(const struct mgds_hca *hca, uint32_t cqn)
{
    const struct mgds_hca_calls *calls = &hca->config.calls;

    if (calls->completion)
        calls->completion(calls->ctx, cqn);
}

void mgds_hca_tell_misuse(const struct mgds_hca *hca, enum mgds_hca_misuse what,
                          uint32_t qpn)
{
    const struct mgds_hca_calls *calls = &hca->config.calls;

    if (calls->misuse)
        calls->misuse(calls->ctx, what, qpn);
}
