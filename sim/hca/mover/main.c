/* Copies for a software ConnectX between memory of a GPU and the host. It is a
 * process of its own: whatever call of CUDA the program stands in, these go on.
 *
 *   mpix-sim-hca-mover FD    FD: a socket to the front, at whose end it ends
 *
 * The one that was started ends at once, and a child of it goes on: the program
 * has no child that it knows nothing of. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/gds/cuda/driver_abi.h"
#include "sim/hca/mover/mover.h"

/* Calls of the driver, by their names there. */
static struct {
    CUresult (*cuInit)(unsigned flags);
    CUresult (*cuDeviceGetByPCIBusId)(CUdevice *device, const char *id);
    CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *ctx, CUdevice device);
    CUresult (*cuCtxSetCurrent)(CUcontext ctx);
    CUresult (*cuCtxSynchronize)(void);
    CUresult (*cuIpcOpenMemHandle_v2)(CUdeviceptr *ptr, CUipcMemHandle handle,
                                      unsigned flags);
    CUresult (*cuIpcCloseMemHandle)(CUdeviceptr ptr);
    CUresult (*cuMemcpyDtoH_v2)(void *to, CUdeviceptr from, size_t bytes);
    CUresult (*cuMemcpyHtoD_v2)(CUdeviceptr to, const void *from, size_t bytes);
} cu;

struct region {
    CUcontext ctx;
    CUdeviceptr base; /* of the allocation */
    CUdeviceptr at;
    uint8_t *copy;
    uint64_t bytes; /* 0: there is none */
};

static struct region regions[MGDS_MOVER_REGIONS];

static bool load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

#define LOAD(name) (cu.name = (__typeof__(cu.name))dlsym(library, #name))
    return library && LOAD(cuInit) && LOAD(cuDeviceGetByPCIBusId) &&
           LOAD(cuDevicePrimaryCtxRetain) && LOAD(cuCtxSetCurrent) &&
           LOAD(cuCtxSynchronize) && LOAD(cuIpcOpenMemHandle_v2) &&
           LOAD(cuIpcCloseMemHandle) && LOAD(cuMemcpyDtoH_v2) &&
           LOAD(cuMemcpyHtoD_v2) && cu.cuInit(0) == CUDA_SUCCESS;
#undef LOAD
}

/* A second opening of an allocation gives the same address again. */
static int open_memory(const struct mgds_mover_request *request,
                       struct region *region)
{
    CUipcMemHandle handle;
    CUdevice device;

    _Static_assert(sizeof(handle) == MGDS_MOVER_IPC, "a handle fits");
    memcpy(&handle, request->ipc, sizeof(handle));
    if (cu.cuDeviceGetByPCIBusId(&device, request->bus_id) != CUDA_SUCCESS ||
        cu.cuDevicePrimaryCtxRetain(&region->ctx, device) != CUDA_SUCCESS ||
        cu.cuCtxSetCurrent(region->ctx) != CUDA_SUCCESS)
        return -ENODEV;
    if (cu.cuIpcOpenMemHandle_v2(&region->base, handle,
                                 CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) !=
        CUDA_SUCCESS)
        return -EFAULT;
    region->at = region->base + request->offset;
    return 0;
}

static int add(const struct mgds_mover_request *request, int fd)
{
    struct region *region = &regions[request->region];
    void *copy =
        mmap(NULL, request->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int rc;

    if (copy == MAP_FAILED)
        return -ENOMEM;
    rc = open_memory(request, region);
    if (rc < 0) {
        munmap(copy, request->bytes);
        return rc;
    }
    region->copy = copy;
    region->bytes = request->bytes;
    return 0;
}

static int drop(struct region *region)
{
    cu.cuCtxSetCurrent(region->ctx);
    cu.cuIpcCloseMemHandle(region->base);
    munmap(region->copy, region->bytes);
    region->bytes = 0;
    return 0;
}

/* A copy of a few bytes to a GPU may be under way when its call returns. */
static int copy(const struct region *region,
                const struct mgds_mover_request *request)
{
    CUdeviceptr there = region->at + request->offset;
    uint8_t *here = region->copy + request->offset;
    CUresult rc = cu.cuCtxSetCurrent(region->ctx);

    if (request->offset > region->bytes ||
        request->bytes > region->bytes - request->offset)
        return -EINVAL;
    if (rc == CUDA_SUCCESS && request->what == MGDS_MOVER_PULL)
        rc = cu.cuMemcpyDtoH_v2(here, there, request->bytes);
    else if (rc == CUDA_SUCCESS)
        rc = cu.cuMemcpyHtoD_v2(there, here, request->bytes);
    if (rc == CUDA_SUCCESS)
        rc = cu.cuCtxSynchronize();
    return rc == CUDA_SUCCESS ? 0 : -EIO;
}

static int serve(const struct mgds_mover_request *request, int fd)
{
    struct region *region;
    bool is_new = request->what == MGDS_MOVER_ADD;

    if (request->region >= MGDS_MOVER_REGIONS || request->bytes == 0)
        return -EINVAL;
    region = &regions[request->region];
    if (is_new != (region->bytes == 0) || is_new != (fd >= 0))
        return -EINVAL;
    if (is_new)
        return add(request, fd);
    return request->what == MGDS_MOVER_DROP ? drop(region)
                                            : copy(region, request);
}

/* False: the front is gone. *fd: what came with it, or -1. */
static bool receive(int socket, struct mgds_mover_request *request, int *fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {request, sizeof(*request)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof(control.room)};
    struct cmsghdr *header;

    *fd = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) !=
        (ssize_t)sizeof(*request))
        return false;
    header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof(*fd));
    return true;
}

/* Descriptors of the program are not kept open from here. */
static void keep_only(int socket)
{
    if (socket > STDERR_FILENO + 1)
        close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
    close_range((unsigned)socket + 1, ~0u, 0);
}

int main(int argc, char **argv)
{
    struct mgds_mover_request request;
    struct mgds_mover_answer answer;
    int socket = argc == 2 ? (int)strtol(argv[1], NULL, 10) : -1, fd;
    bool ready;

    if (socket < 0) {
        fprintf(stderr, "mpix-sim-hca-mover: the software HCA starts this\n");
        return 2;
    }
    if (fork() != 0)
        return 0;
    keep_only(socket);
    ready = load_driver();
    while (receive(socket, &request, &fd)) {
        answer.rc = ready ? serve(&request, fd) : -ENODEV;
        if (fd >= 0)
            close(fd);
        if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            break;
    }
    return 0;
}
