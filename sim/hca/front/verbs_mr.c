/* Commands about memory regions. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/method.h"
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

/* The memory is brought in, as pinning does, and may be used like that. EINVAL
 * is said of memory that may not, and by kernels before 5.14 and of memory of
 * devices for anything: that must be mapped. */
static int check_memory(uint64_t start, uint64_t bytes, bool write)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = start & ~(page - 1);
    uint64_t end = (start + bytes + page - 1) & ~(page - 1);
    void *at = (void *)(uintptr_t)first;

    if (bytes == 0 || start + bytes < start || end <= first)
        return -EINVAL;
    if (write && madvise(at, end - first, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (madvise(at, end - first, MADV_POPULATE_READ) == 0)
        return write ? -EFAULT : 0;
    if (errno == EINVAL && msync(at, end - first, MS_ASYNC) == 0)
        return 0;
    return -EFAULT;
}

static int check_access(const char *command, uint32_t access)
{
    if (access & IBV_ACCESS_MW_BIND)
        return mgds_hca_not_modelled(command, "memory windows");
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
    return check_memory((uintptr_t)memory->at, memory->bytes,
                        memory->access & ~IBV_ACCESS_REMOTE_READ);
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
    struct mgds_hca_mr *mr = calloc(1, sizeof(*mr));
    int rc;

    if (!mr)
        return -ENOMEM;
    mr->memory = (struct mgds_hca_memory){.at = (void *)(uintptr_t)in->start,
                                          .address = in->hca_va,
                                          .bytes = in->length};
    mr->pd = mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    rc = mr->pd ? fill_memory(command->name, &mr->memory, in->access_flags)
                : -EINVAL;
    if (rc == 0)
        rc = make_mr(file, mr, &out->mr_handle);
    if (rc < 0) {
        free(mr);
        return rc;
    }
    out->lkey = mr->key;
    out->rkey = mr->key;
    return 0;
}

/* Memory that a descriptor stands for is mapped; the engine writes to it as to
 * any other. */
static int map_dmabuf(struct mgds_hca_mr *mr,
                      const struct ib_uverbs_ioctl_hdr *call)
{
    uint64_t offset =
        mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET);
    uint64_t bytes =
        mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH);
    uint64_t inside = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    int fd = (int)mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_FD);
    int access = mr->memory.access & ~IBV_ACCESS_REMOTE_READ
                     ? PROT_READ | PROT_WRITE
                     : PROT_READ;
    struct stat about;
    void *at;

    if (bytes == 0 || offset + bytes < offset || fstat(fd, &about) < 0 ||
        (uint64_t)about.st_size < offset + bytes)
        return -EINVAL;
    at = mmap(NULL, inside + bytes, access, MAP_SHARED, fd,
              (off_t)(offset - inside));
    if (at == MAP_FAILED)
        return -errno;
    mr->mapped = at;
    mr->mapped_bytes = inside + bytes;
    mr->memory.at = (uint8_t *)at + inside;
    mr->memory.bytes = bytes;
    mr->memory.address =
        mgds_hca_method_get(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA);
    return 0;
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
    rc = mr->pd ? map_dmabuf(mr, call) : -EINVAL;
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
    munmap(mr->mapped, mr->mapped_bytes);
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

    if (!mr || (mr->mapped && in->flags & IBV_REREG_MR_CHANGE_TRANSLATION))
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
