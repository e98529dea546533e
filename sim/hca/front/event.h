/* Events on their way to the program. Called by the engine, under the lock. */
#ifndef MGDS_HCA_EVENT_H
#define MGDS_HCA_EVENT_H

#include <stdint.h>

#include "sim/hca/cause.h"

struct mgds_hca_verbs_cq;
struct mgds_hca_verbs_qp;
struct mgds_hca_verbs_srq;

void mgds_hca_event_completion(struct mgds_hca_verbs_cq *cq);
/* Of a port of a device: to all that have it open. */
void mgds_hca_event_port(unsigned device, uint32_t port,
                         enum mgds_hca_event event);

void mgds_hca_event_cq(struct mgds_hca_verbs_cq *cq, enum mgds_hca_event event);
void mgds_hca_event_srq(struct mgds_hca_verbs_srq *srq,
                        enum mgds_hca_event event);
void mgds_hca_event_qp(struct mgds_hca_verbs_qp *qp, enum mgds_hca_event event);

#endif
