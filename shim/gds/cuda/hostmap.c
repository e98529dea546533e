/* Mapping by registration; see hostmap.h. */
#include "shim/gds/cuda/hostmap.h"

#include <errno.h>
#include <unistd.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

enum { USUAL = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP };

/* Whole pages: the driver knows no others. */
static int register_pages(void *page, size_t bytes, unsigned flags)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);

    return mgds_cu(mgds_driver()->cuMemHostRegister(
        page, (bytes + size - 1) / size * size, USUAL | flags));
}

/* Of two answers that of I/O memory counts: it is what registers are. */
static int register_kind(void *page, size_t bytes, bool registers)
{
    int rc;

    if (!registers)
        return register_pages(page, bytes, 0);
    rc = register_pages(page, bytes, CU_MEMHOSTREGISTER_IOMEMORY);
    if (rc < 0 && rc != -EEXIST && register_pages(page, bytes, 0) == 0)
        return 0;
    return rc;
}

static int find_address(struct mgds_hostmap *map, void *address)
{
    const struct mgds_driver *driver = mgds_driver();
    CUdeviceptr at;
    int rc;

    if (!driver->cuMemHostGetDevicePointer)
        return -ENOTSUP;
    rc = mgds_cu(driver->cuMemHostGetDevicePointer(&at, address, 0));
    if (rc == 0)
        map->at = at;
    return rc;
}

static int map_pages(struct mgds_hostmap *map, void *address, size_t bytes,
                     bool registers)
{
    size_t offset = (uintptr_t)address % (size_t)sysconf(_SC_PAGESIZE);
    int rc;

    map->page = (char *)address - offset;
    rc = register_kind(map->page, offset + bytes, registers);
    map->foreign = rc == -EEXIST;
    if (rc < 0 && !map->foreign)
        return rc;
    rc = find_address(map, address);
    if (rc < 0 && !map->foreign)
        mgds_cu(mgds_driver()->cuMemHostUnregister(map->page));
    return rc;
}

int mgds_hostmap_init(struct mgds_hostmap *map, const struct mgds_context *ctx,
                      void *address, size_t bytes, bool registers)
{
    int rc = mgds_context_enter(ctx);

    if (rc < 0)
        return rc;
    rc = map_pages(map, address, bytes, registers);
    mgds_context_leave();
    return rc;
}

void mgds_hostmap_fini(struct mgds_hostmap *map, const struct mgds_context *ctx)
{
    if (map->foreign || mgds_context_enter(ctx) < 0)
        return;
    mgds_cu(mgds_driver()->cuMemHostUnregister(map->page));
    mgds_context_leave();
}
