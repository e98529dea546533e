/* Methods about UAR pages that a program is given, and what its queues do with
 * them. Kernels before 5.7 have none: libmlx5 takes registers then (bar.h). */
#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "sim/hca/doorbell.h"
#include "sim/hca/front/adapter.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/method.h"

/* No page is more or less cached than another: they are memory. */
static int check_type(const struct ib_uverbs_ioctl_hdr *call)
{
    uint64_t type = mgds_hca_method_get(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);

    return type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF ||
                   type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC
               ? 0
               : -EOPNOTSUPP;
}

static void tell_page(struct ib_uverbs_ioctl_hdr *call, uint32_t number)
{
    const uint64_t offset = (uint64_t)number * MGDS_UAR_BYTES;
    const uint32_t length = MGDS_UAR_BYTES;

    mgds_hca_method_set(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, number);
    mgds_hca_method_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset,
                        sizeof(offset));
    mgds_hca_method_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
                        sizeof(length));
    mgds_hca_method_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &number,
                        sizeof(number));
}

int mgds_hca_method_alloc_uar(struct mgds_hca_file *file,
                              struct ib_uverbs_ioctl_hdr *call)
{
    struct mgds_hca_table *pages = &file->objects[MGDS_HCA_OBJECT_UAR];
    struct mgds_hca_uar *uar;
    uint32_t number;
    int rc = check_type(call);

    if (rc < 0)
        return rc;
    number = mgds_hca_table_add(pages, file, MGDS_HCA_OBJECT_PAGE,
                                MGDS_HCA_DYNAMIC_PAGE - 1);
    if (number == 0)
        return -ENOMEM;
    rc = mgds_hca_bar_uar(&file->bar, file->adapter->engine, number, &uar);
    if (rc < 0) {
        mgds_hca_table_drop(pages, number);
        return rc;
    }
    pages->slot[number] = uar;
    tell_page(call, number);
    return 0;
}

int mgds_hca_method_destroy_uar(struct mgds_hca_file *file,
                                struct ib_uverbs_ioctl_hdr *call)
{
    uint64_t number =
        mgds_hca_method_get(call, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE);
    int rc = -EINVAL;

    if (number < MGDS_HCA_DYNAMIC_PAGE &&
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_UAR, (uint32_t)number))
        rc = mgds_hca_bar_drop(&file->bar, (uint32_t)number);
    if (rc == 0)
        mgds_hca_file_drop(file, MGDS_HCA_OBJECT_UAR, (uint32_t)number);
    return rc;
}
