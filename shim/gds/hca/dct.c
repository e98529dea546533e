/* Making targets, and finding the way to others; see dct.h. */
#include "shim/gds/hca/dct.h"

#include <errno.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/hca/path.h"
#include "shim/gds/hca/rail_state.h"

enum {
    ENTRIES = 16, /* of a CQ and a receive queue that stay empty */
    RNR_TIMER = 12,
    HOPS = 255
};

struct mgds_dct {
    struct mgds_rail *rail;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
};

static int refuse(struct mgds_refusal *refusal)
{
    return mgds_refuse(refusal, MGDS_REFUSAL_DYNAMIC, errno);
}

/* A target must have a shared receive queue, be it that nothing is in it. */
static int create_queues(struct mgds_dct *dct, struct mgds_refusal *refusal)
{
    const struct mgds_verbs *verbs = dct->rail->verbs;
    struct ibv_cq_init_attr_ex cq = {.cqe = ENTRIES};
    struct mlx5dv_cq_init_attr mlx5 = {.comp_mask = 0};
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = ENTRIES, .max_sge = 1}};
    struct ibv_cq_ex *made =
        verbs->mlx5dv_create_cq(dct->rail->context, &cq, &mlx5);

    if (!made)
        return refuse(refusal);
    dct->cq = ibv_cq_ex_to_cq(made);
    dct->srq = verbs->ibv_create_srq(dct->rail->pd, &srq);
    return dct->srq ? 0 : refuse(refusal);
}

static int create_target(struct mgds_dct *dct, uint64_t key,
                         struct mgds_refusal *refusal)
{
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_DRIVER,
        .send_cq = dct->cq,
        .recv_cq = dct->cq,
        .srq = dct->srq,
        .pd = dct->rail->pd,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
    };
    struct mlx5dv_qp_init_attr mlx5 = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
        .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = key},
    };

    dct->qp =
        dct->rail->verbs->mlx5dv_create_qp(dct->rail->context, &attr, &mlx5);
    return dct->qp ? 0 : refuse(refusal);
}

static int modify(struct mgds_dct *dct, struct ibv_qp_attr *attr, int mask,
                  struct mgds_refusal *refusal)
{
    int rc = dct->rail->verbs->ibv_modify_qp(dct->qp, attr, mask);

    return rc == 0 ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_DYNAMIC, rc);
}

/* It has its number from RTR on. */
static int start(struct mgds_dct *dct, struct mgds_refusal *refusal)
{
    const struct mgds_rail *rail = dct->rail;
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT,
        .pkey_index = rail->pkey_index,
        .port_num = rail->port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC,
    };
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = (enum ibv_mtu)rail->address.mtu,
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.port_num = rail->port,
                    .is_global = 1,
                    .grh = {.sgid_index = rail->gid_index,
                            .hop_limit = HOPS,
                            .traffic_class =
                                (uint8_t)rail->settings.traffic_class}},
    };
    int rc = modify(dct, &init,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                        IBV_QP_ACCESS_FLAGS,
                    refusal);

    if (rc < 0)
        return rc;
    return modify(dct, &rtr,
                  IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV |
                      IBV_QP_PATH_MTU,
                  refusal);
}

int mgds_dct_create(struct mgds_dct **out, struct mgds_rail *rail, uint64_t key,
                    struct mgds_refusal *refusal)
{
    struct mgds_dct *dct = (struct mgds_dct *)mgds_calloc(1, sizeof(*dct));
    int rc;

    if (!dct)
        return mgds_refuse(refusal, MGDS_REFUSAL_DYNAMIC, ENOMEM);
    dct->rail = rail;
    rc = create_queues(dct, refusal);
    if (rc == 0)
        rc = create_target(dct, key, refusal);
    if (rc == 0)
        rc = start(dct, refusal);
    if (rc < 0) {
        mgds_dct_destroy(dct);
        return rc;
    }
    *out = dct;
    return 0;
}

void mgds_dct_destroy(struct mgds_dct *dct)
{
    const struct mgds_verbs *verbs;

    if (!dct)
        return;
    verbs = dct->rail->verbs;
    if (dct->qp)
        verbs->ibv_destroy_qp(dct->qp);
    if (dct->srq)
        verbs->ibv_destroy_srq(dct->srq);
    if (dct->cq)
        verbs->ibv_destroy_cq(dct->cq);
    free(dct);
}

void mgds_dct_describe(const struct mgds_dct *dct, struct mgds_end_rail *out)
{
    mgds_rail_describe(dct->rail, out);
    out->qpn = dct->qp->qp_num;
}

/* What the kernel and libmlx5 make of a path; nothing of that is kept. */
static int find_path(struct mgds_wqe_av *out, const struct mgds_rail *rail,
                     struct ibv_ah_attr *path, struct mgds_refusal *refusal)
{
    struct ibv_ah *ah = rail->verbs->ibv_create_ah(rail->pd, path);
    struct mlx5dv_ah found = {.comp_mask = 0};
    struct mlx5dv_obj obj = {.ah = {.in = ah, .out = &found}};
    int rc;

    if (!ah)
        return refuse(refusal);
    rc = rail->verbs->mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH);
    if (rc == 0)
        memcpy(out, found.av, sizeof(*out));
    rail->verbs->ibv_destroy_ah(ah);
    return rc == 0 ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_DYNAMIC, EINVAL);
}

int mgds_dct_address(struct mgds_wqe_av *out, const struct mgds_rail *rail,
                     const struct mgds_end_rail *there, uint64_t key,
                     struct mgds_refusal *refusal)
{
    struct ibv_ah_attr path = mgds_path_to(rail, there);
    int rc = find_path(out, rail, &path, refusal);

    if (rc < 0)
        return rc;
    out->key.dc_key = mgds_to_be64(key);
    out->qpn = mgds_to_be32(MGDS_AV_FULL | there->qpn);
    return 0;
}
