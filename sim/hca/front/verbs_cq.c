/* Commands about completion queues and their channels. */
#include <errno.h>
#include <stdlib.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "sim/hca/cq.h"
#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/inline.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/user.h"
#include "sim/hca/front/verbs.h"

int mgds_hca_verbs_create_channel(struct mgds_hca_file *file,
                                  struct mgds_hca_command *command)
{
    struct ib_uverbs_create_comp_channel_resp *out = command->response;
    int fd;
    int rc = mgds_hca_file_add_channel(file, MGDS_HCA_COMPLETION_RECORD, &fd);

    if (rc == 0)
        out->fd = (uint32_t)fd;
    return rc;
}

/* The kernel's driver makes one more than asked for, to a power of two. */
static uint32_t entries_for(uint32_t asked)
{
    uint32_t entries = 1;

    while (entries <= asked)
        entries <<= 1;
    return entries;
}

static int check_cq(const struct mgds_hca_command *command,
                    const struct ib_uverbs_ex_create_cq *in)
{
    const struct mlx5_ib_create_cq *driver = command->driver_request;

    if (in->comp_mask || in->comp_vector != 0 || in->cqe == 0 ||
        in->cqe > MGDS_HCA_MAX_CQE)
        return -EINVAL;
    if (in->flags & ~(uint32_t)(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
                                IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN))
        return mgds_hca_not_modelled(command->name, "a flag of the CQ");
    if (driver->cqe_comp_en)
        return mgds_hca_not_modelled(command->name, "compressed CQEs");
    if (driver->flags & ~MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX)
        return mgds_hca_not_modelled(command->name, "a flag of libmlx5's CQ");
    return 0;
}

/* Where it is armed: a page that the program was given, or the first one. */
static int choose_page(struct mgds_hca_file *file,
                       const struct mlx5_ib_create_cq *driver,
                       struct mgds_hca_uar **out)
{
    if (!(driver->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX))
        return mgds_hca_bar_uar(&file->bar, file->adapter->engine, 0, out);
    *out = mgds_hca_file_get(file, MGDS_HCA_OBJECT_UAR, driver->uar_page_index);
    return *out ? 0 : -EINVAL;
}

static int attach_cq(struct mgds_hca_file *file,
                     const struct mgds_hca_command *command,
                     const struct ib_uverbs_ex_create_cq *in,
                     struct mgds_hca_cq **out)
{
    const struct mlx5_ib_create_cq *driver = command->driver_request;
    struct mgds_hca_cq_attr attr = {
        .buffer = (void *)(uintptr_t)driver->buf_addr,
        .entries = entries_for(in->cqe),
        .entry_bytes = driver->cqe_size,
        .record = (struct mgds_be32 *)(uintptr_t)driver->db_addr,
        .ignore_overrun = in->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN,
    };
    int rc = mgds_hca_user_pin_queue(driver->buf_addr,
                                     (uint64_t)attr.entries * attr.entry_bytes,
                                     driver->db_addr);

    if (rc == 0)
        rc = choose_page(file, driver, &attr.uar);
    return rc < 0 ? rc : mgds_hca_cq_attach(file->adapter->engine, &attr, out);
}

static int create_cq(struct mgds_hca_file *file,
                     const struct mgds_hca_command *command,
                     const struct ib_uverbs_ex_create_cq *in,
                     struct ib_uverbs_create_cq_resp *out)
{
    struct mlx5_ib_create_cq_resp *driver = command->driver_response;
    struct mgds_hca_channel *channel = NULL;
    struct mgds_hca_verbs_cq *cq;
    int rc = check_cq(command, in);

    if (rc < 0)
        return rc;
    if (in->comp_channel >= 0) {
        channel = mgds_hca_file_channel(file, MGDS_HCA_COMPLETION_RECORD,
                                        in->comp_channel);
        if (!channel)
            return -EINVAL;
    }
    cq = calloc(1, sizeof(*cq));
    if (!cq)
        return -ENOMEM;
    rc = attach_cq(file, command, in, &cq->engine);
    if (rc < 0) {
        free(cq);
        return rc;
    }
    cq->file = file;
    cq->user = in->user_handle;
    cq->channel = channel;
    cq->async = &file->async;
    cq->async->users++;
    if (channel)
        channel->users++;
    file->adapter->cqs[cq->engine->number] = cq;
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_CQ, cq, &out->cq_handle);
    if (rc < 0) {
        mgds_hca_destroy_cq(cq);
        return rc;
    }
    out->cqe = cq->engine->attr.entries - 1;
    driver->cqn = cq->engine->number;
    mgds_hca_inline_poll(file, cq->user);
    return 0;
}

int mgds_hca_verbs_create_cq(struct mgds_hca_file *file,
                             struct mgds_hca_command *command)
{
    const struct ib_uverbs_create_cq *in = command->request;
    struct ib_uverbs_ex_create_cq same = {
        .user_handle = in->user_handle,
        .cqe = in->cqe,
        .comp_vector = in->comp_vector,
        .comp_channel = in->comp_channel,
    };

    return create_cq(file, command, &same, command->response);
}

int mgds_hca_verbs_create_cq_ex(struct mgds_hca_file *file,
                                struct mgds_hca_command *command)
{
    struct ib_uverbs_ex_create_cq_resp *out = command->response;

    out->response_length = (uint32_t)command->response_room;
    return create_cq(file, command, command->request, &out->base);
}

/* Events that the program has not read yet will not come any more: libibverbs
 * waits for as many acknowledgements as are said here. */
int mgds_hca_verbs_destroy_cq(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_destroy_cq *in = command->request;
    struct ib_uverbs_destroy_cq_resp *out = command->response;
    struct mgds_hca_verbs_cq *cq =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_CQ, in->cq_handle);

    if (!cq)
        return -EINVAL;
    if (cq->engine->users)
        return -EBUSY;
    out->comp_events_reported = cq->completions;
    out->async_events_reported = cq->asyncs;
    if (cq->channel)
        out->comp_events_reported -=
            mgds_hca_channel_drop(cq->channel, cq->user);
    out->async_events_reported -= mgds_hca_channel_drop(cq->async, cq->user);
    mgds_hca_file_drop(file, MGDS_HCA_OBJECT_CQ, in->cq_handle);
    return mgds_hca_destroy_cq(cq);
}
