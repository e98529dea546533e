/* The devices of this process: an engine each, on one fabric. All calls are
 * under the lock (pump.h). */
#ifndef MGDS_HCA_ADAPTER_H
#define MGDS_HCA_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/table.h"

struct mgds_hca;
struct mgds_hca_file;
struct mgds_hca_pd;
struct mgds_hca_verbs_cq;
struct mgds_hca_verbs_qp;
struct mgds_hca_verbs_srq;

struct mgds_hca_adapter {
    unsigned index;
    struct mgds_hca *engine;
    unsigned files; /* with a context: the engine goes with the last */
    /* By what the engine calls them: number, and number above the first. */
    struct mgds_hca_verbs_cq **cqs;
    struct mgds_hca_verbs_srq **srqs;
    struct mgds_hca_verbs_qp **qps;
    struct mgds_hca_table pds; /* by number */
};

/* Device `index`, for one file more. -ENOMEM. */
int mgds_hca_adapter_get(unsigned index, struct mgds_hca_adapter **out);
void mgds_hca_adapter_put(struct mgds_hca_adapter *adapter);

/* The place of a QP in `qps`. */
uint32_t mgds_hca_adapter_slot(const struct mgds_hca_adapter *adapter,
                               uint32_t qpn);

/* Of all of them: how many things were done. */
int mgds_hca_adapters_run(void);

/* What devices of this process have sent and placed (MPIX_SIM_HCA_DIGEST), a
 * line each. No engine runs any more. */
void mgds_hca_adapters_tell_digests(void);

/* A GPU flushes what they have written to it. */
void mgds_hca_adapters_flush(unsigned gpu);

/* A region of any of them has this byte. Safe in a signal handler. */
bool mgds_hca_adapters_reach(const void *at);

/* Gives the PD a number, and takes it back. -ENOMEM. */
int mgds_hca_adapter_add_pd(struct mgds_hca_adapter *adapter,
                            struct mgds_hca_pd *pd);
void mgds_hca_adapter_drop_pd(struct mgds_hca_adapter *adapter,
                              const struct mgds_hca_pd *pd);

#endif
