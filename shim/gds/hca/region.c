/* Registering memory; see region.h. */
#include "shim/gds/hca/region.h"

#include <errno.h>
#include <string.h>

#include "shim/gds/hca/rail_state.h"

enum {
    ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC
};

static int by_dmabuf(struct mgds_region *region, struct mgds_rail *rail,
                     const struct mgds_region_memory *memory,
                     struct mgds_refusal *refusal)
{
    if (!rail->verbs->ibv_reg_dmabuf_mr)
        return mgds_refuse(refusal, MGDS_REFUSAL_DMABUF, ENOSYS);
    region->mr =
        rail->verbs->ibv_reg_dmabuf_mr(rail->pd, memory->offset, memory->bytes,
                                       memory->address, memory->dmabuf, ACCESS);
    region->way = MGDS_REGION_DMABUF;
    return region->mr ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_DMABUF, errno);
}

static int by_address(struct mgds_region *region, struct mgds_rail *rail,
                      const struct mgds_region_memory *memory,
                      struct mgds_refusal *refusal)
{
    void *address = (void *)(uintptr_t)memory->address;

    region->mr =
        (rail->verbs->ibv_reg_mr)(rail->pd, address, memory->bytes, ACCESS);
    region->way = memory->gpu ? MGDS_REGION_PEERMEM : MGDS_REGION_HOST;
    if (region->mr)
        return 0;
    return mgds_refuse(refusal,
                       memory->gpu ? MGDS_REFUSAL_PEERMEM : MGDS_REFUSAL_MEMORY,
                       errno);
}

int mgds_region_init(struct mgds_region *region, struct mgds_rail *rail,
                     const struct mgds_region_memory *memory,
                     struct mgds_refusal *refusal)
{
    int rc = -ENOTSUP;

    memset(region, 0, sizeof(*region));
    region->verbs = rail->verbs;
    if (memory->gpu && memory->dmabuf >= 0)
        rc = by_dmabuf(region, rail, memory, &region->passed);
    if (rc < 0)
        rc = by_address(region, rail, memory, refusal);
    if (rc < 0)
        return rc;
    region->lkey = region->mr->lkey;
    region->rkey = region->mr->rkey;
    return 0;
}

void mgds_region_fini(struct mgds_region *region)
{
    (void)region->verbs->ibv_dereg_mr(region->mr);
}
