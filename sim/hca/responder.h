/* The receiving side of a QP: does what requests of its peer say. */
#ifndef MGDS_SIM_HCA_RESPONDER_H
#define MGDS_SIM_HCA_RESPONDER_H

#include "sim/hca/cause.h"

struct mgds_hca_qp;
struct mgds_hca_request;
struct mgds_hca_answer;

/* Handlers of opcodes.def. */
enum mgds_hca_cause
mgds_hca_respond_write(struct mgds_hca_qp *qp,
                       const struct mgds_hca_request *request,
                       struct mgds_hca_answer *answer);
enum mgds_hca_cause
mgds_hca_respond_write_imm(struct mgds_hca_qp *qp,
                           const struct mgds_hca_request *request,
                           struct mgds_hca_answer *answer);
enum mgds_hca_cause
mgds_hca_respond_send(struct mgds_hca_qp *qp,
                      const struct mgds_hca_request *request,
                      struct mgds_hca_answer *answer);
enum mgds_hca_cause
mgds_hca_respond_read(struct mgds_hca_qp *qp,
                      const struct mgds_hca_request *request,
                      struct mgds_hca_answer *answer);
enum mgds_hca_cause
mgds_hca_respond_compare_swap(struct mgds_hca_qp *qp,
                              const struct mgds_hca_request *request,
                              struct mgds_hca_answer *answer);
enum mgds_hca_cause
mgds_hca_respond_masked_swap(struct mgds_hca_qp *qp,
                             const struct mgds_hca_request *request,
                             struct mgds_hca_answer *answer);
enum mgds_hca_cause
mgds_hca_respond_masked_add(struct mgds_hca_qp *qp,
                            const struct mgds_hca_request *request,
                            struct mgds_hca_answer *answer);
enum mgds_hca_cause
mgds_hca_respond_fetch_add(struct mgds_hca_qp *qp,
                           const struct mgds_hca_request *request,
                           struct mgds_hca_answer *answer);

#endif
