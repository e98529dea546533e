/* Commands about shared receive queues. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/user.h"
#include "sim/hca/front/verbs.h"
#include "sim/hca/qp.h"
#include "sim/hca/srq.h"

/* The kernel's driver makes one more than asked for, to a power of two. */
static uint32_t slots_for(uint32_t asked)
{
    uint32_t slots = 1;

    while (slots <= asked)
        slots <<= 1;
    return slots;
}

static int attach_srq(struct mgds_hca_verbs_srq *srq,
                      const struct ib_uverbs_create_srq *in,
                      const struct mlx5_ib_create_srq *driver)
{
    struct mgds_hca_srq_attr attr = {
        .buffer = (void *)(uintptr_t)driver->buf_addr,
        .slots = slots_for(in->max_wr),
        .stride = mgds_hca_srq_stride(in->max_sge),
        .record = (struct mgds_be32 *)(uintptr_t)driver->db_addr,
        .pd = srq->pd->number,
    };
    struct mgds_hca_adapter *adapter = srq->file->adapter;
    int rc = mgds_hca_user_pin_queue(
        driver->buf_addr, (uint64_t)attr.slots * attr.stride, driver->db_addr);

    if (rc < 0)
        return rc;
    rc = mgds_hca_srq_attach(adapter->engine, &attr, &srq->engine);
    if (rc < 0)
        return rc;
    /* Its event may come with its limit, at once. */
    adapter->srqs[srq->engine->number] = srq;
    rc = mgds_hca_srq_limit(srq->engine, in->srq_limit);
    if (rc < 0) {
        adapter->srqs[srq->engine->number] = NULL;
        mgds_hca_srq_detach(srq->engine);
        return rc;
    }
    srq->pd->users++;
    return 0;
}

int mgds_hca_verbs_create_srq(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_create_srq *in = command->request;
    const struct mlx5_ib_create_srq *driver = command->driver_request;
    struct ib_uverbs_create_srq_resp *out = command->response;
    struct mlx5_ib_create_srq_resp *driver_out = command->driver_response;
    struct mgds_hca_verbs_srq *srq;
    int rc;

    if (driver->flags)
        return mgds_hca_not_modelled(command->name, "a flag of libmlx5's SRQ");
    if (in->max_wr >= MGDS_HCA_RECEIVES || in->max_sge > MGDS_HCA_MAX_SGE)
        return -EINVAL;
    srq = calloc(1, sizeof(*srq));
    if (!srq)
        return -ENOMEM;
    srq->file = file;
    srq->user = in->user_handle;
    srq->max_sge = in->max_sge;
    srq->pd = mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    rc = srq->pd ? attach_srq(srq, in, driver) : -EINVAL;
    if (rc < 0) {
        free(srq);
        return rc;
    }
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_SRQ, srq, &out->srq_handle);
    if (rc < 0) {
        mgds_hca_destroy_srq(srq);
        return rc;
    }
    out->max_wr = srq->engine->attr.slots - 1;
    out->max_sge = in->max_sge;
    out->srqn = srq->engine->number;
    driver_out->srqn = srq->engine->number;
    return 0;
}

int mgds_hca_verbs_modify_srq(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_modify_srq *in = command->request;
    struct mgds_hca_verbs_srq *srq =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_SRQ, in->srq_handle);

    if (!srq || in->attr_mask & ~(uint32_t)IBV_SRQ_LIMIT)
        return -EINVAL; /* mlx5 has no other size for an SRQ */
    return in->attr_mask ? mgds_hca_srq_limit(srq->engine, in->srq_limit) : 0;
}

int mgds_hca_verbs_query_srq(struct mgds_hca_file *file,
                             struct mgds_hca_command *command)
{
    const struct ib_uverbs_query_srq *in = command->request;
    struct ib_uverbs_query_srq_resp *out = command->response;
    const struct mgds_hca_verbs_srq *srq =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_SRQ, in->srq_handle);

    if (!srq)
        return -EINVAL;
    out->max_wr = srq->engine->attr.slots - 1;
    out->max_sge = srq->max_sge;
    out->srq_limit = srq->engine->limit;
    return 0;
}

/* As DESTROY_CQ. */
int mgds_hca_verbs_destroy_srq(struct mgds_hca_file *file,
                               struct mgds_hca_command *command)
{
    const struct ib_uverbs_destroy_srq *in = command->request;
    struct ib_uverbs_destroy_srq_resp *out = command->response;
    struct mgds_hca_verbs_srq *srq =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_SRQ, in->srq_handle);
    uint64_t user;
    int rc;

    if (!srq)
        return -EINVAL;
    user = srq->user;
    out->events_reported = srq->asyncs;
    rc = mgds_hca_destroy_srq(srq);
    if (rc < 0)
        return rc;
    mgds_hca_file_drop(file, MGDS_HCA_OBJECT_SRQ, in->srq_handle);
    out->events_reported -= mgds_hca_channel_drop(&file->async, user);
    return 0;
}
