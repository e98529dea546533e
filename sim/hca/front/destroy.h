/* The end of objects. All under the lock. */
#ifndef MGDS_HCA_DESTROY_H
#define MGDS_HCA_DESTROY_H

struct mgds_hca_ah;
struct mgds_hca_file;
struct mgds_hca_mr;
struct mgds_hca_mw;
struct mgds_hca_pd;
struct mgds_hca_verbs_cq;
struct mgds_hca_verbs_qp;
struct mgds_hca_verbs_srq;

/* They are freed, and their handles are the caller's. -EBUSY: others use the
 * PD, CQ or SRQ, and nothing was done. */
int mgds_hca_destroy_pd(struct mgds_hca_file *file, struct mgds_hca_pd *pd);
void mgds_hca_destroy_ah(struct mgds_hca_ah *ah);
void mgds_hca_destroy_mr(struct mgds_hca_file *file, struct mgds_hca_mr *mr);
void mgds_hca_destroy_mw(struct mgds_hca_file *file, struct mgds_hca_mw *mw);
void mgds_hca_destroy_qp(struct mgds_hca_verbs_qp *qp);
int mgds_hca_destroy_cq(struct mgds_hca_verbs_cq *cq);
int mgds_hca_destroy_srq(struct mgds_hca_verbs_srq *srq);

/* Everything that commands on this file have made. */
void mgds_hca_destroy_all(struct mgds_hca_file *file);

#endif
