/* Peer access; see peer.h. */
#include "shim/gds/cuda/peer.h"

#include <errno.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

static int can_access(const struct mgds_driver *driver, int device, int peer)
{
    int can = 0, rc;

    if (!driver->cuDeviceCanAccessPeer || !driver->cuCtxEnablePeerAccess)
        return -ENOTSUP;
    rc = mgds_cu(driver->cuDeviceCanAccessPeer(&can, device, peer));
    return rc == 0 && !can ? -ENOTSUP : rc;
}

int mgds_peer_enable(const struct mgds_context *ctx,
                     const struct mgds_context *peer)
{
    const struct mgds_driver *driver = mgds_driver();
    int rc = can_access(driver, ctx->device, peer->device);
    CUresult result;

    if (rc == 0)
        rc = mgds_context_enter(ctx);
    if (rc < 0)
        return rc;
    result = driver->cuCtxEnablePeerAccess(peer->handle, 0);
    mgds_context_leave();
    return result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? 0
                                                            : mgds_cu(result);
}

bool mgds_peer_reaches(const struct mgds_context *ctx, uintptr_t addr)
{
    CUdeviceptr there = 0;
    int rc = mgds_context_enter(ctx);

    if (rc < 0)
        return false;
    rc = mgds_cu(mgds_driver()->cuPointerGetAttribute(
        &there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, addr));
    mgds_context_leave();
    return rc == 0 && there == addr;
}
