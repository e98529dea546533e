/* Commands about protection domains, and what libmlx5 does with them alone:
 * address handles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/gid.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/method.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/verbs.h"

int mgds_hca_verbs_alloc_pd(struct mgds_hca_file *file,
                            struct mgds_hca_command *command)
{
    struct ib_uverbs_alloc_pd_resp *out = command->response;
    struct mlx5_ib_alloc_pd_resp *driver = command->driver_response;
    struct mgds_hca_pd *pd = calloc(1, sizeof(*pd));
    int rc = pd ? mgds_hca_adapter_add_pd(file->adapter, pd) : -ENOMEM;

    if (rc < 0) {
        free(pd);
        return rc;
    }
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_PD, pd, &out->pd_handle);
    if (rc < 0) {
        mgds_hca_destroy_pd(file, pd);
        return rc;
    }
    driver->pdn = pd->number;
    return 0;
}

int mgds_hca_method_query_pd(struct mgds_hca_file *file,
                             struct ib_uverbs_ioctl_hdr *call)
{
    const struct mgds_hca_pd *pd = mgds_hca_file_get(
        file, MGDS_HCA_OBJECT_PD,
        (uint32_t)mgds_hca_method_get(call, MLX5_IB_ATTR_QUERY_PD_HANDLE));

    if (!pd)
        return -EINVAL;
    mgds_hca_method_put(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->number,
                        sizeof(pd->number));
    return 0;
}

int mgds_hca_verbs_dealloc_pd(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_dealloc_pd *in = command->request;
    struct mgds_hca_pd *pd =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    int rc = pd ? mgds_hca_destroy_pd(file, pd) : -EINVAL;

    if (rc == 0)
        mgds_hca_file_drop(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    return rc;
}

/* RoCE: the kernel finds the MAC address for libmlx5. */
int mgds_hca_verbs_create_ah(struct mgds_hca_file *file,
                             struct mgds_hca_command *command)
{
    const struct ib_uverbs_create_ah *in = command->request;
    struct ib_uverbs_create_ah_resp *out = command->response;
    struct mlx5_ib_create_ah_resp *driver = command->driver_response;
    struct mgds_hca_pd *pd =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    struct mgds_hca_ah *ah;
    int rc;

    if (!pd || in->attr.port_num < 1 || in->attr.port_num > mgds_hca_ports() ||
        in->attr.grh.sgid_index >= mgds_hca_gids() ||
        (!in->attr.is_global && !mgds_hca_is_ib()))
        return -EINVAL;
    ah = malloc(sizeof(*ah));
    if (!ah)
        return -ENOMEM;
    ah->pd = pd;
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_AH, ah, &out->ah_handle);
    if (rc < 0) {
        free(ah);
        return rc;
    }
    pd->users++;
    mgds_hca_mac(mgds_hca_gid_number(in->attr.grh.dgid), driver->dmac);
    driver->response_length = (uint32_t)command->driver_response_room;
    return 0;
}

int mgds_hca_verbs_destroy_ah(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_destroy_ah *in = command->request;
    struct mgds_hca_ah *ah =
        mgds_hca_file_take(file, MGDS_HCA_OBJECT_AH, in->ah_handle);

    if (!ah)
        return -EINVAL;
    mgds_hca_destroy_ah(ah);
    return 0;
}
