/* Commands about memory regions. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/far.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/guard.h"
#include "sim/hca/front/method.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/user.h"
#include "sim/hca/front/verbs.h"

enum {
    /* What the engine looks at has the same bits. */
    ENGINE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
             IBV_ACCESS_MW_BIND,
    WRITES = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
             IBV_ACCESS_REMOTE_ATOMIC,
    /* The kernel's driver passes over these, too; IBV_ACCESS_ZERO_BASED has
     * had its effect on hca_va. Strict order is one of the relaxed ones. */
    NO_MATTER =
        IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE
};

_Static_assert((int)MGDS_HCA_LOCAL_WRITE == (int)IBV_ACCESS_LOCAL_WRITE &&
                   (int)MGDS_HCA_REMOTE_WRITE == (int)IBV_ACCESS_REMOTE_WRITE &&
                   (int)MGDS_HCA_REMOTE_READ == (int)IBV_ACCESS_REMOTE_READ &&
                   (int)MGDS_HCA_REMOTE_ATOMIC ==
                       (int)IBV_ACCESS_REMOTE_ATOMIC &&
                   (int)MGDS_HCA_WINDOW_BIND == (int)IBV_ACCESS_MW_BIND,
               "the engine's permissions are those of verbs");

static int check_access(const char *command, uint32_t access)
{
    if (access & IBV_ACCESS_ON_DEMAND)
        return mgds_hca_not_modelled(command, "on-demand paging");
    return access & ~(uint32_t)(ENGINE | NO_MATTER) ? -EINVAL : 0;
}

static int fill_memory(const char *command, struct mgds_hca_memory *memory,
                       uint32_t access)
{
    int rc = check_access(command, access);

    if (rc < 0)
        return rc;
    memory->access = access & ENGINE;
    mgds_hca_guard_open();
    return mgds_hca_user_pin((uintptr_t)memory->at, memory->bytes,
                             memory->access & WRITES);
}

/* The driver may wait for other calls of the program, and those for the wire:
 * not under the lock, and not about memory that the host reaches, of which the
 * first page tells. -EBADF: the program has closed the device meanwhile. */
static int ask_driver(const struct mgds_hca_file *file,
                      const struct ib_uverbs_reg_mr *in,
                      struct mgds_hca_far_place *place)
{
    int fd = file->fd, rc;

    if (mgds_hca_user_pin(in->start, in->length ? 1 : 0, false) != -EFAULT)
        return -ENOENT;
    mgds_hca_unlock();
    rc = mgds_hca_far_ask(in->start, in->length, place);
    mgds_hca_lock();
    return mgds_hca_file_find(fd) == file ? rc : -EBADF;
}

/* Memory of a GPU, as nvidia-peermem gives it; or what the kernel can pin. */
static int find_memory(const struct mgds_hca_file *file, const char *command,
                       struct mgds_hca_mr *mr, uint32_t access,
                       const struct mgds_hca_far_place *place)
{
    struct mgds_hca *engine = file->adapter->engine;
    int rc = check_access(command, access);

    if (rc == 0 && place)
        rc = mgds_hca_far_map(engine, place, &mr->memory, &mr->mapped.far);
    else if (rc == 0)
        rc = mgds_hca_gpu_map_address(engine, &mr->memory, &mr->mapped);
    if (rc == -ENOENT)
        return fill_memory(command, &mr->memory, access);
    mr->memory.access = access & ENGINE;
    return rc;
}

/* A region of that memory, but for PD and permissions. */
static int make_mr(struct mgds_hca_file *file, struct mgds_hca_mr *mr,
                   uint32_t *handle)
{
    int rc;

    mr->memory.pd = mr->pd->number;
    rc = mgds_hca_key_attach(file->adapter->engine, &mr->memory, &mr->key);
    if (rc < 0)
        return rc;
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_MR, mr, handle);
    if (rc < 0)
        mgds_hca_key_detach(file->adapter->engine, mr->key);
    else
        mr->pd->users++;
    return rc;
}

int mgds_hca_verbs_reg_mr(struct mgds_hca_file *file,
                          struct mgds_hca_command *command)
{
    const struct ib_uverbs_reg_mr *in = command->request;
    struct ib_uverbs_reg_mr_resp *out = command->response;
    struct mgds_hca_far_place place;
    int rc = ask_driver(file, in, &place);
    bool far = rc == 0;
    struct mgds_hca_mr *mr;

    if (rc < 0 && rc != -ENOENT)
        return rc;
    mr = calloc(1, sizeof(*mr));
    if (!mr)
        return -ENOMEM;
    mr->memory = (struct mgds_hca_memory){.at = (void *)(uintptr_t)in->start,
                                          .address = in->hca_va,
                                          .bytes = in->length};
    mr->pd = mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    rc = mr->pd ? find_memory(file, command->name, mr, in->access_flags,
                              far ? &place : NULL)
                : -EINVAL;
    if (rc >= 0)
        rc = make_mr(file, mr, &out->mr_handle);
    if (rc != 0) {
        mgds_hca_gpu_unmap(file->adapter->engine, &mr->mapped);
        free(mr);
        return rc;
    }
    out->lkey = mr->key;
    out->rkey = mr->key;
    return 0;
}

static int map_dmabuf(const struct mgds_hca_file *file, struct mgds_hca_mr *mr,
                      const struct ib_uverbs_ioctl_hdr *call)
{
    mr->memory.bytes =
        mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH);
    mr->memory.address =
        mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA);
    return mgds_hca_gpu_map_dmabuf(
        file->adapter->engine,
        (int)mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_FD),
        mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET),
        &mr->memory, &mr->mapped);
}

int mgds_hca_method_reg_dmabuf_mr(struct mgds_hca_file *file,
                                  struct ib_uverbs_ioctl_hdr *call)
{
    uint32_t access = (uint32_t)mgds_hca_method_get(
        call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS);
    struct mgds_hca_mr *mr = calloc(1, sizeof(*mr));
    uint32_t handle;
    int rc = mr ? check_access("REG_DMABUF_MR", access) : -ENOMEM;

    if (rc < 0)
        goto fail;
    mr->memory.access = access & ENGINE;
    mr->pd = mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD,
                               (uint32_t)mgds_hca_method_get(
                                   call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE));
    rc = mr->pd ? map_dmabuf(file, mr, call) : -EINVAL;
    if (rc < 0)
        goto fail;
    rc = make_mr(file, mr, &handle);
    if (rc < 0)
        goto unmap;
    mgds_hca_method_set(call, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, handle);
    mgds_hca_method_put(call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &mr->key,
                        sizeof(mr->key));
    mgds_hca_method_put(call, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &mr->key,
                        sizeof(mr->key));
    return 0;

unmap:
    mgds_hca_gpu_unmap(file->adapter->engine, &mr->mapped);
fail:
    free(mr);
    return rc;
}

/* What the region is to be; with the PD that it is to have. */
static int change_memory(const struct mgds_hca_file *file,
                         const struct mgds_hca_command *command,
                         struct mgds_hca_memory *memory,
                         struct mgds_hca_pd **pd)
{
    const struct ib_uverbs_rereg_mr *in = command->request;
    uint32_t access = in->flags & IBV_REREG_MR_CHANGE_ACCESS ? in->access_flags
                                                             : memory->access;

    if (in->flags == 0 || in->flags & ~(uint32_t)IBV_REREG_MR_FLAGS_SUPPORTED)
        return -EINVAL;
    if (in->flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        memory->at = (void *)(uintptr_t)in->start;
        memory->address = in->hca_va;
        memory->bytes = in->length;
    }
    if (in->flags & IBV_REREG_MR_CHANGE_PD)
        *pd = mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    if (!*pd)
        return -EINVAL;
    memory->pd = (*pd)->number;
    return fill_memory(command->name, memory, access);
}

/* Under the same key, as the kernel's driver does where it can. */
int mgds_hca_verbs_rereg_mr(struct mgds_hca_file *file,
                            struct mgds_hca_command *command)
{
    const struct ib_uverbs_rereg_mr *in = command->request;
    struct ib_uverbs_rereg_mr_resp *out = command->response;
    struct mgds_hca_mr *mr =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_MR, in->mr_handle);
    struct mgds_hca_memory memory;
    struct mgds_hca_pd *pd;
    int rc;

    if (!mr || ((mr->mapped.at || mr->mapped.far) &&
                in->flags & IBV_REREG_MR_CHANGE_TRANSLATION))
        return -EINVAL;
    memory = mr->memory;
    pd = mr->pd;
    rc = change_memory(file, command, &memory, &pd);
    if (rc == 0)
        rc = mgds_hca_key_change(file->adapter->engine, mr->key, &memory);
    if (rc < 0)
        return rc;
    mr->pd->users--;
    pd->users++;
    mr->pd = pd;
    mr->memory = memory;
    out->lkey = mr->key;
    out->rkey = mr->key;
    return 0;
}

int mgds_hca_method_query_mr(struct mgds_hca_file *file,
                             struct ib_uverbs_ioctl_hdr *call)
{
    const struct mgds_hca_mr *mr = mgds_hca_file_get(
        file, MGDS_HCA_OBJECT_MR,
        (uint32_t)mgds_hca_method_get(call, UVERBS_ATTR_QUERY_MR_HANDLE));

    if (!mr)
        return -EINVAL;
    mgds_hca_method_put(call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->key,
                        sizeof(mr->key));
    mgds_hca_method_put(call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->key,
                        sizeof(mr->key));
    mgds_hca_method_put(call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH,
                        &mr->memory.bytes, sizeof(mr->memory.bytes));
    mgds_hca_method_put(call, UVERBS_ATTR_QUERY_MR_RESP_IOVA,
                        &mr->memory.address, sizeof(mr->memory.address));
    return 0;
}

int mgds_hca_verbs_dereg_mr(struct mgds_hca_file *file,
                            struct mgds_hca_command *command)
{
    const struct ib_uverbs_dereg_mr *in = command->request;
    struct mgds_hca_mr *mr =
        mgds_hca_file_take(file, MGDS_HCA_OBJECT_MR, in->mr_handle);

    if (!mr)
        return -EINVAL;
    mgds_hca_destroy_mr(file, mr);
    return 0;
}
