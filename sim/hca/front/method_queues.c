/* Methods that make and end CQs and QPs: as the commands do, with events that
 * go to a descriptor of the call. */
#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "sim/hca/front/command.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/method.h"
#include "sim/hca/front/object.h"

static const uint32_t create_cq_ex =
    IB_USER_VERBS_CMD_CREATE_CQ | (uint32_t)IB_USER_VERBS_CMD_FLAG_EXTENDED;
static const uint32_t create_qp_ex =
    IB_USER_VERBS_CMD_CREATE_QP | (uint32_t)IB_USER_VERBS_CMD_FLAG_EXTENDED;

static struct mgds_hca_parts parts_of(const void *request, size_t request_bytes,
                                      void *response, size_t response_bytes)
{
    return (struct mgds_hca_parts){.request = request,
                                   .request_bytes = request_bytes,
                                   .response = response,
                                   .response_bytes = response_bytes};
}

/* A command with the driver's part of a call. */
static int run_command(struct mgds_hca_file *file,
                       const struct ib_uverbs_ioctl_hdr *call, uint32_t number,
                       struct mgds_hca_parts parts)
{
    mgds_hca_method_driver(call, &parts);
    return mgds_hca_command_run(file, number, &parts);
}

/* A command that destroys an object; its response goes to the attribute. */
static int run_destroy(struct mgds_hca_file *file,
                       const struct ib_uverbs_ioctl_hdr *call, uint32_t number,
                       struct mgds_hca_parts parts, unsigned attribute)
{
    int rc = run_command(file, call, number, parts);

    if (rc == 0)
        mgds_hca_method_put(call, attribute, parts.response,
                            parts.response_bytes);
    return rc;
}

/* The descriptor for events of the new object: the device's own, or the one
 * that the call names. NULL: that is none. */
static struct mgds_hca_channel *
find_async(struct mgds_hca_file *file, const struct ib_uverbs_ioctl_hdr *call,
           unsigned attribute)
{
    if (!mgds_hca_method_has(call, attribute))
        return &file->async;
    return mgds_hca_file_channel(file, MGDS_HCA_ASYNC_RECORD,
                                 (int)mgds_hca_method_get(call, attribute));
}

/* Nobody has told of an event yet. */
static void use_async(struct mgds_hca_file *file,
                      struct mgds_hca_channel **of_object,
                      struct mgds_hca_channel *async)
{
    async->users++;
    mgds_hca_file_put_channel(file, *of_object);
    *of_object = async;
}

int mgds_hca_method_create_cq(struct mgds_hca_file *file,
                              struct ib_uverbs_ioctl_hdr *call)
{
    struct mgds_hca_channel *async =
        find_async(file, call, UVERBS_ATTR_CREATE_CQ_EVENT_FD);
    struct ib_uverbs_ex_create_cq in = {
        .user_handle =
            mgds_hca_method_get(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE),
        .cqe = (uint32_t)mgds_hca_method_get(call, UVERBS_ATTR_CREATE_CQ_CQE),
        .comp_vector = (uint32_t)mgds_hca_method_get(
            call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR),
        .comp_channel = -1,
        .flags =
            (uint32_t)mgds_hca_method_get(call, UVERBS_ATTR_CREATE_CQ_FLAGS)};
    struct ib_uverbs_ex_create_cq_resp out = {0};
    struct mgds_hca_verbs_cq *cq;
    int rc;

    if (!async)
        return -EINVAL;
    if (mgds_hca_method_has(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL))
        in.comp_channel =
            (int)mgds_hca_method_get(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
    rc = run_command(file, call, create_cq_ex,
                     parts_of(&in, sizeof(in), &out, sizeof(out)));
    if (rc < 0)
        return rc;
    cq = mgds_hca_file_get(file, MGDS_HCA_OBJECT_CQ, out.base.cq_handle);
    use_async(file, &cq->async, async);
    mgds_hca_method_set(call, UVERBS_ATTR_CREATE_CQ_HANDLE, out.base.cq_handle);
    mgds_hca_method_put(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &out.base.cqe,
                        sizeof(out.base.cqe));
    return 0;
}

int mgds_hca_method_destroy_cq(struct mgds_hca_file *file,
                               struct ib_uverbs_ioctl_hdr *call)
{
    struct ib_uverbs_destroy_cq in = {
        .cq_handle =
            (uint32_t)mgds_hca_method_get(call, UVERBS_ATTR_DESTROY_CQ_HANDLE)};
    struct ib_uverbs_destroy_cq_resp out = {0};

    return run_destroy(file, call, IB_USER_VERBS_CMD_DESTROY_CQ,
                       parts_of(&in, sizeof(in), &out, sizeof(out)),
                       UVERBS_ATTR_DESTROY_CQ_RESP);
}

/* Attributes of QPs that are not modelled. */
static int check_qp(const struct ib_uverbs_ioctl_hdr *call)
{
    static const unsigned others[] = {UVERBS_ATTR_CREATE_QP_XRCD_HANDLE,
                                      UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE,
                                      UVERBS_ATTR_CREATE_QP_SOURCE_QPN};

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (mgds_hca_method_has(call, others[i]))
            return mgds_hca_not_modelled("QP_CREATE", "an attribute");
    }
    return 0;
}

static int read_qp(const struct ib_uverbs_ioctl_hdr *call,
                   struct ib_uverbs_ex_create_qp *in)
{
    uint32_t flags =
        (uint32_t)mgds_hca_method_get(call, UVERBS_ATTR_CREATE_QP_FLAGS);
    struct ib_uverbs_qp_cap cap;
    int rc = mgds_hca_method_read(call, UVERBS_ATTR_CREATE_QP_CAP, &cap,
                                  sizeof(cap));

    if (rc < 0)
        return rc;
    *in = (struct ib_uverbs_ex_create_qp){
        .user_handle =
            mgds_hca_method_get(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE),
        .pd_handle = (uint32_t)mgds_hca_method_get(
            call, UVERBS_ATTR_CREATE_QP_PD_HANDLE),
        .send_cq_handle = (uint32_t)mgds_hca_method_get(
            call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
        .recv_cq_handle = (uint32_t)mgds_hca_method_get(
            call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
        .srq_handle = (uint32_t)mgds_hca_method_get(
            call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
        .max_send_wr = cap.max_send_wr,
        .max_recv_wr = cap.max_recv_wr,
        .max_send_sge = cap.max_send_sge,
        .max_recv_sge = cap.max_recv_sge,
        .max_inline_data = cap.max_inline_data,
        .sq_sig_all = !!(flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL),
        .qp_type =
            (uint8_t)mgds_hca_method_get(call, UVERBS_ATTR_CREATE_QP_TYPE),
        .is_srq = mgds_hca_method_has(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
        .create_flags = flags & ~(uint32_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL,
    };
    return 0;
}

static void tell_qp(struct ib_uverbs_ioctl_hdr *call,
                    const struct ib_uverbs_create_qp_resp *qp)
{
    const struct ib_uverbs_qp_cap cap = {
        .max_send_wr = qp->max_send_wr,
        .max_recv_wr = qp->max_recv_wr,
        .max_send_sge = qp->max_send_sge,
        .max_recv_sge = qp->max_recv_sge,
        .max_inline_data = qp->max_inline_data,
    };

    mgds_hca_method_set(call, UVERBS_ATTR_CREATE_QP_HANDLE, qp->qp_handle);
    mgds_hca_method_put(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap,
                        sizeof(cap));
    mgds_hca_method_put(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->qpn,
                        sizeof(qp->qpn));
}

int mgds_hca_method_create_qp(struct mgds_hca_file *file,
                              struct ib_uverbs_ioctl_hdr *call)
{
    struct mgds_hca_channel *async =
        find_async(file, call, UVERBS_ATTR_CREATE_QP_EVENT_FD);
    struct ib_uverbs_ex_create_qp_resp out = {0};
    struct ib_uverbs_ex_create_qp in;
    struct mgds_hca_verbs_qp *qp;
    int rc = async ? check_qp(call) : -EINVAL;

    if (rc == 0)
        rc = read_qp(call, &in);
    if (rc < 0)
        return rc;
    rc = run_command(file, call, create_qp_ex,
                     parts_of(&in, sizeof(in), &out, sizeof(out)));
    if (rc < 0)
        return rc;
    qp = mgds_hca_file_get(file, MGDS_HCA_OBJECT_QP, out.base.qp_handle);
    use_async(file, &qp->async, async);
    tell_qp(call, &out.base);
    return 0;
}

int mgds_hca_method_destroy_qp(struct mgds_hca_file *file,
                               struct ib_uverbs_ioctl_hdr *call)
{
    struct ib_uverbs_destroy_qp in = {
        .qp_handle =
            (uint32_t)mgds_hca_method_get(call, UVERBS_ATTR_DESTROY_QP_HANDLE)};
    struct ib_uverbs_destroy_qp_resp out = {0};

    return run_destroy(file, call, IB_USER_VERBS_CMD_DESTROY_QP,
                       parts_of(&in, sizeof(in), &out, sizeof(out)),
                       UVERBS_ATTR_DESTROY_QP_RESP);
}
