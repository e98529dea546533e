/* The end of objects. All under the lock. */
#ifndef MGDS_HCA_DESTROY_H
#define MGDS_HCA_DESTROY_H

struct mgds_hca_file;
struct mgds_hca_mr;
struct mgds_hca_verbs_cq;
struct mgds_hca_verbs_qp;

/* They are freed, and their handles are the caller's. -EBUSY: a QP uses the
 * CQ, and nothing was done. */
void mgds_hca_destroy_mr(struct mgds_hca_file *file, struct mgds_hca_mr *mr);
void mgds_hca_destroy_qp(struct mgds_hca_verbs_qp *qp);
int mgds_hca_destroy_cq(struct mgds_hca_verbs_cq *cq);

/* Everything that commands on this file have made. */
void mgds_hca_destroy_all(struct mgds_hca_file *file);

#endif
