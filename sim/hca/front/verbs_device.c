/* Commands about the device: its context, what it can do, its port. */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/gid.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/method.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/port.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/front/verbs.h"
#include "sim/hca/qp.h"
#include "sim/hca/wqe.h"

/* Of the answers to GET_CONTEXT and QUERY_DEVICE. A limit of 0 says that there
 * is no such object. */
enum {
    QP_TABLE = 1 << 17,
    BFREG_BYTES = MGDS_UAR_REGISTER_BYTES,
    SEND_WQE_BYTES = 1024,
    RECEIVE_WQE_BYTES = 512,
    LOG_UAR_BYTES = 12,
    MAX_OBJECTS = 1 << 16,
    MAX_RESPONDER = 1 << 20,
    ACK_DELAY = 16,
    VENDOR = 0x02c9,
    MAX_VL = 4, /* VL0 to VL3 */
    WIDTH_4X = 2
};

static const uint64_t page_sizes = UINT64_C(0xfffffffffffff000);

uint32_t mgds_hca_port_capabilities(void)
{
    return mgds_hca_is_ib()
               ? IBV_PORT_SYS_IMAGE_GUID_SUP | IBV_PORT_EXTENDED_SPEEDS_SUP
               : IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
}

/* Without a cable an InfiniBand port polls for a partner, and that of an
 * Ethernet device is disabled (Linux mlx5_query_port_roce). */
const struct mgds_hca_physical *mgds_hca_port_physical(bool up)
{
    static const struct mgds_hca_physical link_up = {5, "5: LinkUp"},
                                          polling = {2, "2: Polling"},
                                          disabled = {3, "3: Disabled"};

    if (up)
        return &link_up;
    return mgds_hca_is_ib() ? &polling : &disabled;
}

static int open_async(struct mgds_hca_file *file)
{
    return mgds_hca_channel_open(&file->async, MGDS_HCA_ASYNC_RECORD);
}

static void close_async(struct mgds_hca_file *file)
{
    close(file->async.fd);
    mgds_hca_channel_close(&file->async);
}

static void fill_context(const struct mgds_hca_file *file,
                         struct mlx5_ib_alloc_ucontext_resp *out, size_t room)
{
    *out = (struct mlx5_ib_alloc_ucontext_resp){
        .qp_tab_size = QP_TABLE,
        .bf_reg_size = BFREG_BYTES,
        .tot_bfregs = file->bar.total,
        .cache_line_size = 64,
        .max_sq_desc_sz = SEND_WQE_BYTES,
        .max_rq_desc_sz = RECEIVE_WQE_BYTES,
        .max_send_wqebb = MGDS_HCA_SEND_BLOCKS,
        .max_recv_wr = MGDS_HCA_RECEIVES,
        .max_srq_recv_wr = MGDS_HCA_RECEIVES,
        .num_ports = (uint8_t)mgds_hca_ports(),
        .response_length = (uint32_t)room,
        .cqe_version = 1,
        .cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
                         MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
        .eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
        .clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1,
        .log_uar_size = LOG_UAR_BYTES,
        .num_uars_per_page = 1,
        .num_dyn_bfregs = file->bar.total ? MGDS_HCA_DYNAMIC_BFREGS : 0,
    };
}

/* libmlx5 asks with DevX first, and again without. */
static int check_context(const struct mgds_hca_command *command)
{
    const struct mlx5_ib_alloc_ucontext_req_v2 *in = command->driver_request;

    if (in->flags & MLX5_IB_ALLOC_UCTX_DEVX)
        return mgds_hca_not_modelled(command->name, "DevX");
    if (in->max_cqe_version < 1)
        return mgds_hca_not_modelled(command->name, "CQEs of version 0");
    if (in->total_num_bfregs < 2 || in->total_num_bfregs % 2 != 0 ||
        in->total_num_bfregs > MGDS_HCA_BFREGS ||
        in->num_low_latency_bfregs > in->total_num_bfregs - 1)
        return -EINVAL;
    return 0;
}

/* The program asks for UAR pages when it needs some, and has none before. */
static bool takes_pages(const struct mlx5_ib_alloc_ucontext_req_v2 *in)
{
    return mgds_hca_settings()->methods && in->lib_caps & MLX5_LIB_CAP_DYN_UAR;
}

int mgds_hca_verbs_get_context(struct mgds_hca_file *file,
                               struct mgds_hca_command *command)
{
    const struct mlx5_ib_alloc_ucontext_req_v2 *in = command->driver_request;
    struct ib_uverbs_get_context_resp *out = command->response;
    int rc = file->adapter ? -EINVAL : check_context(command);

    if (rc < 0)
        return rc;
    rc = open_async(file);
    if (rc < 0)
        return rc;
    rc = mgds_hca_adapter_get(file->device, &file->adapter);
    if (rc < 0) {
        close_async(file);
        return rc;
    }
    if (!takes_pages(in)) {
        file->bar.total = in->total_num_bfregs;
        file->bar.low = in->num_low_latency_bfregs;
    }
    out->async_fd = (uint32_t)file->async.fd;
    out->num_comp_vectors = 1;
    fill_context(file, command->driver_response, command->driver_response_room);
    return 0;
}

/* For who imports the device by a copy of its descriptor. */
int mgds_hca_method_query_context(struct mgds_hca_file *file,
                                  struct ib_uverbs_ioctl_hdr *call)
{
    struct mlx5_ib_alloc_ucontext_resp driver;
    const uint32_t vectors = 1;
    const uint64_t support = 0;

    fill_context(file, &driver, sizeof(driver));
    mgds_hca_method_put(call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
                        &vectors, sizeof(vectors));
    mgds_hca_method_put(call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &support,
                        sizeof(support));
    mgds_hca_method_put(call, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &driver,
                        sizeof(driver));
    return 0;
}

int mgds_hca_method_alloc_async(struct mgds_hca_file *file,
                                struct ib_uverbs_ioctl_hdr *call)
{
    int fd;
    int rc = mgds_hca_file_add_channel(file, MGDS_HCA_ASYNC_RECORD, &fd);

    if (rc == 0)
        mgds_hca_method_set(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
                            (uint64_t)fd);
    return rc;
}

static void fill_device(const struct mgds_hca_file *file,
                        struct ib_uverbs_query_device_resp *out)
{
    const struct mgds_hca_kind *kind = mgds_hca_kind();
    uint64_t guid =
        htobe64(mgds_hca_guid(mgds_hca_port_number(file->device, 1)));

    *out = (struct ib_uverbs_query_device_resp){
        .fw_ver = (uint64_t)kind->firmware[0] << 32 |
                  (uint64_t)kind->firmware[1] << 16 | kind->firmware[2],
        .node_guid = guid,
        .sys_image_guid = guid,
        .max_mr_size = UINT64_MAX,
        .page_size_cap = page_sizes,
        .vendor_id = VENDOR,
        .vendor_part_id = kind->device,
        .max_qp = MAX_OBJECTS - 1,
        .max_qp_wr = MGDS_HCA_SEND_BLOCKS,
        .device_cap_flags = IBV_DEVICE_PORT_ACTIVE_EVENT |
                            IBV_DEVICE_SYS_IMAGE_GUID |
                            IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
                            IBV_DEVICE_MEM_WINDOW_TYPE_2B,
        .max_sge = MGDS_HCA_MAX_SGE,
        .max_sge_rd = MGDS_HCA_MAX_SGE,
        .max_cq = MAX_OBJECTS - 1,
        .max_cqe = MGDS_HCA_MAX_CQE,
        .max_mr = 1 << 24,
        .max_mw = 1 << 24,
        .max_pd = MAX_OBJECTS,
        .max_ah = MAX_OBJECTS,
        .max_srq = MAX_OBJECTS - 1,
        .max_srq_wr = MGDS_HCA_RECEIVES - 1,
        .max_srq_sge = MGDS_HCA_MAX_SGE,
        .max_qp_rd_atom = MGDS_HCA_READS,
        .max_res_rd_atom = MAX_RESPONDER,
        .max_qp_init_rd_atom = MGDS_HCA_READS,
        .atomic_cap = IBV_ATOMIC_HCA,
        .max_pkeys = 1,
        .local_ca_ack_delay = ACK_DELAY,
        .phys_port_cnt = (uint8_t)mgds_hca_ports(),
    };
}

int mgds_hca_verbs_query_device(struct mgds_hca_file *file,
                                struct mgds_hca_command *command)
{
    fill_device(file, command->response);
    return 0;
}

int mgds_hca_verbs_query_device_ex(struct mgds_hca_file *file,
                                   struct mgds_hca_command *command)
{
    const struct ib_uverbs_ex_query_device *in = command->request;
    struct ib_uverbs_ex_query_device_resp *out = command->response;
    struct mlx5_ib_query_device_resp *driver = command->driver_response;

    if (in->comp_mask)
        return mgds_hca_not_modelled(command->name, "a component mask");
    fill_device(file, &out->base);
    out->response_length = (uint32_t)command->response_room;
    out->timestamp_mask = UINT64_MAX;
    out->hca_core_clock = 1000000; /* kHz: CQEs have nanoseconds */
    out->device_cap_flags_ex = out->base.device_cap_flags;
    driver->response_length = (uint32_t)command->driver_response_room;
    return 0;
}

int mgds_hca_verbs_query_port(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_query_port *in = command->request;
    struct ib_uverbs_query_port_resp *out = command->response;
    unsigned port = in->port_num;
    bool ib = mgds_hca_is_ib(), up = mgds_hca_ports_up(file->device, port);

    if (port < 1 || port > mgds_hca_ports())
        return -EINVAL;
    *out = (struct ib_uverbs_query_port_resp){
        .port_cap_flags = mgds_hca_port_capabilities(),
        .max_msg_sz = (uint32_t)MGDS_HCA_MESSAGE_MAX,
        .gid_tbl_len = mgds_hca_gids(),
        .pkey_tbl_len = 1,
        .lid = ib ? mgds_hca_port_number(file->device, port) : 0,
        .sm_lid = ib ? 1 : 0,
        .state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
        .max_mtu = MGDS_HCA_PORT_MTU,
        .active_mtu = MGDS_HCA_PORT_MTU,
        .max_vl_num = MAX_VL,
        .active_width = WIDTH_4X,
        .active_speed = mgds_hca_kind()->speed,
        .phys_state = mgds_hca_port_physical(up)->state,
        .link_layer = ib ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET,
    };
    return 0;
}

/* What a port of a switch has: this one is of none. */
int mgds_hca_method_query_port_driver(struct mgds_hca_file *file,
                                      struct ib_uverbs_ioctl_hdr *call)
{
    const struct mlx5_ib_uapi_query_port none = {0};

    (void)file;
    mgds_hca_method_put(call, MLX5_IB_ATTR_QUERY_PORT, &none, sizeof(none));
    return 0;
}
