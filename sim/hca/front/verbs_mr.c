/* Commands about memory regions. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/verbs.h"

enum {
    /* What the engine looks at has the same bits. */
    ENGINE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
    /* The kernel's driver passes over these, too; IBV_ACCESS_ZERO_BASED has
     * had its effect on hca_va. Strict order is one of the relaxed ones. */
    NO_MATTER =
        IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE
};

_Static_assert((int)MGDS_HCA_LOCAL_WRITE == (int)IBV_ACCESS_LOCAL_WRITE &&
                   (int)MGDS_HCA_REMOTE_WRITE == (int)IBV_ACCESS_REMOTE_WRITE &&
                   (int)MGDS_HCA_REMOTE_READ == (int)IBV_ACCESS_REMOTE_READ &&
                   (int)MGDS_HCA_REMOTE_ATOMIC == (int)IBV_ACCESS_REMOTE_ATOMIC,
               "the engine's permissions are those of verbs");

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* The memory is brought in, as pinning does, and may be used like that. Kernels
 * before 5.14, and memory of devices, say EINVAL: then it must be mapped. */
static int check_memory(uint64_t start, uint64_t bytes, bool write)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = start & ~(page - 1);
    uint64_t end = (start + bytes + page - 1) & ~(page - 1);
    void *at = (void *)(uintptr_t)first;

    if (bytes == 0 || start + bytes < start || end <= first)
        return -EINVAL;
    if (madvise(at, end - first,
                write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
        return 0;
    if (errno == EINVAL && msync(at, end - first, MS_ASYNC) == 0)
        return 0;
    return -EFAULT;
}

static int check_access(const struct mgds_hca_command *command, uint32_t access)
{
    if (access & IBV_ACCESS_MW_BIND)
        return mgds_hca_not_modelled(command, "memory windows");
    if (access & IBV_ACCESS_ON_DEMAND)
        return mgds_hca_not_modelled(command, "on-demand paging");
    return access & ~(uint32_t)(ENGINE | NO_MATTER) ? -EINVAL : 0;
}

static int fill_memory(const struct mgds_hca_command *command,
                       struct mgds_hca_memory *memory, uint32_t access)
{
    int rc = check_access(command, access);

    if (rc < 0)
        return rc;
    memory->access = access & ENGINE;
    return check_memory((uintptr_t)memory->at, memory->bytes,
                        memory->access & ~IBV_ACCESS_REMOTE_READ);
}

int mgds_hca_verbs_reg_mr(struct mgds_hca_file *file,
                          struct mgds_hca_command *command)
{
    const struct ib_uverbs_reg_mr *in = command->request;
    struct ib_uverbs_reg_mr_resp *out = command->response;
    struct mgds_hca_mr *mr;
    int rc;

    mr = calloc(1, sizeof(*mr));
    if (!mr)
        return -ENOMEM;
    mr->memory = (struct mgds_hca_memory){.at = (void *)(uintptr_t)in->start,
                                          .address = in->hca_va,
                                          .bytes = in->length};
    mr->pd = mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    rc = mr->pd ? fill_memory(command, &mr->memory, in->access_flags) : -EINVAL;
    if (rc < 0)
        goto fail;
    mr->memory.pd = mr->pd->number;
    rc = mgds_hca_key_attach(file->adapter->engine, &mr->memory, &mr->key);
    if (rc < 0)
        goto fail;
    mr->pd->users++;
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_MR, mr, &out->mr_handle);
    if (rc < 0) {
        mgds_hca_destroy_mr(file, mr);
        return rc;
    }
    out->lkey = mr->key;
    out->rkey = mr->key;
    return 0;

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
    return fill_memory(command, memory, access);
}

/* Under a new key: who has the old one has no access any more. */
int mgds_hca_verbs_rereg_mr(struct mgds_hca_file *file,
                            struct mgds_hca_command *command)
{
    const struct ib_uverbs_rereg_mr *in = command->request;
    struct ib_uverbs_rereg_mr_resp *out = command->response;
    struct mgds_hca_mr *mr =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_MR, in->mr_handle);
    struct mgds_hca *engine = file->adapter->engine;
    struct mgds_hca_memory memory;
    struct mgds_hca_pd *pd;
    uint32_t key;
    int rc;

    if (!mr)
        return -EINVAL;
    memory = mr->memory;
    pd = mr->pd;
    rc = change_memory(file, command, &memory, &pd);
    if (rc == 0)
        rc = mgds_hca_key_attach(engine, &memory, &key);
    if (rc < 0)
        return rc;
    mgds_hca_key_detach(engine, mr->key);
    mr->pd->users--;
    pd->users++;
    mr->pd = pd;
    mr->memory = memory;
    mr->key = key;
    out->lkey = key;
    out->rkey = key;
    return 0;
}

int mgds_hca_verbs_dereg_mr(struct mgds_hca_file *file,
                            struct mgds_hca_command *command)
{
    const struct ib_uverbs_dereg_mr *in = command->request;
    struct mgds_hca_mr *mr =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_MR, in->mr_handle);

    if (!mr)
        return -EINVAL;
    mgds_hca_file_drop(file, MGDS_HCA_OBJECT_MR, in->mr_handle);
    mgds_hca_destroy_mr(file, mr);
    return 0;
}
