/* Commands about queue pairs, but for changing them. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "sim/hca/doorbell.h"
#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/front/user.h"
#include "sim/hca/front/verbs.h"
#include "sim/hca/opcode.h"
#include "sim/hca/qp.h"

/* Scattering to CQEs is a wish that a device need not fulfil. */
enum {
    DRIVER_FLAGS = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |
                   MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_UAR_PAGE_INDEX,
    DYNAMIC_FLAGS = MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_TYPE_DCT,
    USER_INDEX = 0xffffff,
    MAX_SHIFT = 16
};

/* Services by type, and by the driver's flags. MGDS_SERVICES: none. */
static enum mgds_hca_service service_of(uint8_t type, uint32_t flags)
{
    static const struct {
        uint8_t type;
        uint32_t flags;
    } services[MGDS_SERVICES] = {
        [MGDS_SERVICE_RC] = {IBV_QPT_RC, 0},
        [MGDS_SERVICE_UC] = {IBV_QPT_UC, 0},
        [MGDS_SERVICE_UD] = {IBV_QPT_UD, 0},
        [MGDS_SERVICE_DCI] = {IBV_QPT_DRIVER, MLX5_QP_FLAG_TYPE_DCI},
        [MGDS_SERVICE_DCT] = {IBV_QPT_DRIVER, MLX5_QP_FLAG_TYPE_DCT},
    };
    unsigned i = 0;

    while (i < MGDS_SERVICES && (services[i].type != type ||
                                 services[i].flags != (flags & DYNAMIC_FLAGS)))
        i++;
    return (enum mgds_hca_service)i;
}

static bool has_dynamic(void)
{
    return mgds_hca_kind()->capabilities & MGDS_HCA_CAN_DC;
}

static int check_qp(const struct mgds_hca_command *command,
                    const struct ib_uverbs_ex_create_qp *in)
{
    const struct mlx5_ib_create_qp *driver = command->driver_request;

    enum mgds_hca_service service = service_of(in->qp_type, driver->flags);

    if (service == MGDS_SERVICES ||
        (mgds_hca_is_dynamic(service) && !has_dynamic()))
        return mgds_hca_not_modelled(command->name,
                                     "another type than RC, UC, UD and DC");
    if (in->comp_mask || in->create_flags)
        return mgds_hca_not_modelled(command->name, "a flag of the QP");
    if (driver->flags & ~(uint32_t)(DRIVER_FLAGS | DYNAMIC_FLAGS))
        return mgds_hca_not_modelled(command->name, "a flag of libmlx5's QP");
    if (driver->ece_options)
        return mgds_hca_not_modelled(command->name,
                                     "enhanced connection options");
    return 0;
}

/* What the kernel's driver says: the receive queue as it is, the rest as it was
 * asked for; libmlx5 knows better about sends. */
static void fill_caps(const struct ib_uverbs_ex_create_qp *in,
                      const struct mlx5_ib_create_qp *driver,
                      struct ib_uverbs_create_qp_resp *caps)
{
    caps->max_send_wr = in->max_send_wr;
    caps->max_send_sge = in->max_send_sge;
    caps->max_inline_data = in->max_inline_data;
    if (in->max_recv_wr == 0 || in->is_srq)
        return;
    caps->max_recv_wr = driver->rq_wqe_count;
    caps->max_recv_sge = (1u << driver->rq_wqe_shift) / MGDS_WQE_UNIT;
}

/* A page that the program was given: it does not say which of its registers. */
static int choose_page(struct mgds_hca_verbs_qp *qp, uint32_t number,
                       struct mgds_hca_qp_attr *attr)
{
    attr->uar = mgds_hca_file_get(qp->file, MGDS_HCA_OBJECT_UAR, number);
    attr->uar_register = MGDS_UAR_EITHER;
    return attr->uar ? 0 : -EINVAL;
}

/* The program's register, of a page that it has taken (bfreg >= 0), or one of
 * those that are there for all. */
static int choose_register(struct mgds_hca_verbs_qp *qp,
                           const struct mlx5_ib_create_qp *driver,
                           struct mgds_hca_qp_attr *attr)
{
    struct mgds_hca_bar *bar = &qp->file->bar;
    uint32_t index = driver->bfreg_index, page = index / 2;

    if (driver->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX)
        return choose_page(qp, index, attr);
    if (bar->total == 0) /* it asked for pages, and uses none */
        return -EINVAL;
    if (driver->flags & MLX5_QP_FLAG_BFREG_INDEX) {
        if (index >= MGDS_HCA_DYNAMIC_BFREGS)
            return -EINVAL;
        page += MGDS_HCA_DYNAMIC_PAGE;
    } else {
        index = mgds_hca_bar_take(bar);
        qp->bfreg = (int)index;
        page = index / 2;
    }
    attr->uar_register = index % 2;
    return mgds_hca_bar_uar(bar, qp->file->adapter->engine, page, &attr->uar);
}

/* The SRQ takes the place of the ring. */
static int choose_receives(const struct mgds_hca_file *file,
                           const struct ib_uverbs_ex_create_qp *in,
                           const struct mlx5_ib_create_qp *driver,
                           struct mgds_hca_qp_attr *attr)
{
    const struct mgds_hca_verbs_srq *srq;

    if (attr->service == MGDS_SERVICE_DCI)
        return 0; /* its SRQ, if there is one, is not used */
    if (!in->is_srq) {
        attr->receives = in->max_recv_wr > 0 ? driver->rq_wqe_count : 0;
        attr->receive_stride = 1u << driver->rq_wqe_shift;
        return 0;
    }
    srq = mgds_hca_file_get(file, MGDS_HCA_OBJECT_SRQ, in->srq_handle);
    if (!srq)
        return -EINVAL;
    attr->srq = srq->engine;
    return 0;
}

/* Receives, and sends behind them. */
static uint64_t ring_bytes(const struct mlx5_ib_create_qp *driver)
{
    return ((uint64_t)driver->rq_wqe_count << driver->rq_wqe_shift) +
           (uint64_t)driver->sq_wqe_count * MGDS_WQE_BLOCK;
}

/* A target has nothing that libmlx5 writes to. */
static void set_target(const struct mlx5_ib_create_qp *driver,
                       struct mgds_hca_qp_attr *attr)
{
    attr->send_blocks = 0;
    attr->receive_buffer = NULL;
    attr->record = NULL;
    attr->dc_key = driver->access_key;
}

static int set_sends(struct mgds_hca_verbs_qp *qp,
                     const struct mlx5_ib_create_qp *driver,
                     struct mgds_hca_qp_attr *attr)
{
    int rc = mgds_hca_user_pin_queue(driver->buf_addr, ring_bytes(driver),
                                     driver->db_addr);

    if (rc < 0)
        return rc;
    attr->send_buffer = (uint8_t *)attr->receive_buffer +
                        ((size_t)driver->rq_wqe_count << driver->rq_wqe_shift);
    return choose_register(qp, driver, attr);
}

static int attach_qp(struct mgds_hca_verbs_qp *qp,
                     const struct ib_uverbs_ex_create_qp *in,
                     const struct mlx5_ib_create_qp *driver)
{
    const struct mgds_hca_verbs_cq *send, *receive;
    struct mgds_hca_file *file = qp->file;
    struct mgds_hca_qp_attr attr = {
        .send_blocks = driver->sq_wqe_count,
        .receive_buffer = (void *)(uintptr_t)driver->buf_addr,
        .record = (struct mgds_be32 *)(uintptr_t)driver->db_addr,
        .pd = qp->pd->number,
        .user_index = driver->uidx & USER_INDEX,
        .service = service_of(in->qp_type, driver->flags),
        .out_of_order = mgds_hca_settings()->out_of_order,
    };
    int rc;

    send = mgds_hca_file_get(file, MGDS_HCA_OBJECT_CQ, in->send_cq_handle);
    receive = mgds_hca_file_get(file, MGDS_HCA_OBJECT_CQ, in->recv_cq_handle);
    if (!send || !receive || driver->rq_wqe_shift > MAX_SHIFT)
        return -EINVAL;
    attr.send_cq = send->engine;
    attr.receive_cq = receive->engine;
    rc = choose_receives(file, in, driver, &attr);
    if (rc < 0)
        return rc;
    if (attr.service == MGDS_SERVICE_DCT)
        set_target(driver, &attr);
    else
        rc = set_sends(qp, driver, &attr);
    return rc < 0
               ? rc
               : mgds_hca_qp_attach(file->adapter->engine, &attr, &qp->engine);
}

static int make_qp(struct mgds_hca_verbs_qp *qp,
                   const struct ib_uverbs_ex_create_qp *in,
                   const struct mlx5_ib_create_qp *driver)
{
    struct mgds_hca_adapter *adapter = qp->file->adapter;
    int rc = attach_qp(qp, in, driver);

    if (rc < 0)
        goto give_register;
    rc = mgds_hca_pump_add();
    if (rc < 0)
        goto detach;
    qp->user = in->user_handle;
    qp->signal_all = in->sq_sig_all;
    fill_caps(in, driver, &qp->caps);
    qp->pd->users++;
    qp->async = &qp->file->async;
    qp->async->users++;
    adapter->qps[mgds_hca_adapter_slot(adapter, qp->engine->number)] = qp;
    return 0;

detach:
    mgds_hca_qp_detach(qp->engine);
give_register:
    if (qp->bfreg >= 0)
        mgds_hca_bar_give(&qp->file->bar, (uint32_t)qp->bfreg);
    return rc;
}

/* libmlx5 counts registers with those of each page that are not for it. */
static uint32_t number_for_libmlx5(int bfreg)
{
    uint32_t index = (uint32_t)bfreg;

    return bfreg < 0 ? UINT32_MAX : 4 * (index / 2) + index % 2;
}

static int create_qp(struct mgds_hca_file *file,
                     const struct mgds_hca_command *command,
                     const struct ib_uverbs_ex_create_qp *in,
                     struct ib_uverbs_create_qp_resp *out)
{
    struct mlx5_ib_create_qp_resp *driver = command->driver_response;
    struct mgds_hca_verbs_qp *qp;
    int rc = check_qp(command, in);

    if (rc < 0)
        return rc;
    qp = calloc(1, sizeof(*qp));
    if (!qp)
        return -ENOMEM;
    qp->file = file;
    qp->bfreg = -1;
    qp->pd = mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    rc = qp->pd ? make_qp(qp, in, command->driver_request) : -EINVAL;
    if (rc < 0) {
        free(qp);
        return rc;
    }
    qp->caps.qpn = qp->engine->number;
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_QP, qp, &qp->caps.qp_handle);
    if (rc < 0) {
        mgds_hca_destroy_qp(qp);
        return rc;
    }
    *out = qp->caps;
    driver->bfreg_index = number_for_libmlx5(qp->bfreg);
    return 0;
}

int mgds_hca_verbs_create_qp(struct mgds_hca_file *file,
                             struct mgds_hca_command *command)
{
    const struct ib_uverbs_create_qp *in = command->request;
    struct ib_uverbs_ex_create_qp same = {
        .user_handle = in->user_handle,
        .pd_handle = in->pd_handle,
        .send_cq_handle = in->send_cq_handle,
        .recv_cq_handle = in->recv_cq_handle,
        .srq_handle = in->srq_handle,
        .max_send_wr = in->max_send_wr,
        .max_recv_wr = in->max_recv_wr,
        .max_send_sge = in->max_send_sge,
        .max_recv_sge = in->max_recv_sge,
        .max_inline_data = in->max_inline_data,
        .sq_sig_all = in->sq_sig_all,
        .qp_type = in->qp_type,
        .is_srq = in->is_srq,
    };

    return create_qp(file, command, &same, command->response);
}

int mgds_hca_verbs_create_qp_ex(struct mgds_hca_file *file,
                                struct mgds_hca_command *command)
{
    struct ib_uverbs_ex_create_qp_resp *out = command->response;

    out->response_length = (uint32_t)command->response_room;
    return create_qp(file, command, command->request, &out->base);
}

static uint8_t verbs_state(const struct mgds_hca_qp *qp)
{
    static const uint8_t states[MGDS_STATES] = {
        [MGDS_STATE_RESET] = IBV_QPS_RESET, [MGDS_STATE_INIT] = IBV_QPS_INIT,
        [MGDS_STATE_RTR] = IBV_QPS_RTR,     [MGDS_STATE_RTS] = IBV_QPS_RTS,
        [MGDS_STATE_SQD] = IBV_QPS_SQD,     [MGDS_STATE_ERR] = IBV_QPS_ERR,
    };

    return states[qp->state];
}

int mgds_hca_verbs_query_qp(struct mgds_hca_file *file,
                            struct mgds_hca_command *command)
{
    const struct ib_uverbs_query_qp *in = command->request;
    struct ib_uverbs_query_qp_resp *out = command->response;
    const struct mgds_hca_verbs_qp *qp =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_QP, in->qp_handle);

    if (!qp)
        return -EINVAL;
    *out = (struct ib_uverbs_query_qp_resp){
        .dest = qp->set.dest,
        .max_send_wr = qp->caps.max_send_wr,
        .max_recv_wr = qp->caps.max_recv_wr,
        .max_send_sge = qp->caps.max_send_sge,
        .max_recv_sge = qp->caps.max_recv_sge,
        .max_inline_data = qp->caps.max_inline_data,
        .qkey = qp->set.qkey,
        .rq_psn = qp->set.rq_psn,
        .sq_psn = qp->set.sq_psn,
        .dest_qp_num = qp->set.dest_qp_num,
        .qp_access_flags = qp->set.qp_access_flags,
        .pkey_index = qp->set.pkey_index,
        .qp_state = verbs_state(qp->engine),
        .cur_qp_state = verbs_state(qp->engine),
        .path_mtu = qp->set.path_mtu,
        .sq_draining =
            qp->engine->state == MGDS_STATE_SQD && !qp->engine->send.drained,
        .max_rd_atomic = qp->set.max_rd_atomic,
        .max_dest_rd_atomic = qp->set.max_dest_rd_atomic,
        .min_rnr_timer = qp->set.min_rnr_timer,
        .port_num = qp->set.port_num,
        .timeout = qp->set.timeout,
        .retry_cnt = qp->set.retry_cnt,
        .rnr_retry = qp->set.rnr_retry,
        .sq_sig_all = qp->signal_all,
    };
    return 0;
}

/* As DESTROY_CQ. */
int mgds_hca_verbs_destroy_qp(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_destroy_qp *in = command->request;
    struct ib_uverbs_destroy_qp_resp *out = command->response;
    struct mgds_hca_verbs_qp *qp =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_QP, in->qp_handle);

    if (!qp)
        return -EINVAL;
    out->events_reported =
        qp->asyncs - mgds_hca_channel_drop(qp->async, qp->user);
    mgds_hca_file_drop(file, MGDS_HCA_OBJECT_QP, in->qp_handle);
    mgds_hca_destroy_qp(qp);
    return 0;
}
