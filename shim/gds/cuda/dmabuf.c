/* Asking the driver for a descriptor; see dmabuf.h. */
#include "shim/gds/cuda/dmabuf.h"

#include <errno.h>
#include <unistd.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

int mgds_dmabuf_export(int *fd, const struct mgds_context *ctx,
                       const void *base, size_t bytes)
{
    const struct mgds_driver *driver = mgds_driver();
    size_t page = (size_t)sysconf(_SC_PAGESIZE); /* the driver wants whole ones
                                                  */
    int rc;

    if (!driver->cuMemGetHandleForAddressRange)
        return -ENOTSUP;
    rc = mgds_context_enter(ctx);
    if (rc < 0)
        return rc;
    rc = mgds_cu(driver->cuMemGetHandleForAddressRange(
        fd, (CUdeviceptr)(uintptr_t)base, (bytes + page - 1) / page * page,
        CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    mgds_context_leave();
    return rc;
}
