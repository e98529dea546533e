/* Asks the driver, and the process that copies. */
#include "sim/hca/front/far.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/gds/cuda/driver_abi.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/key.h"
#include "sim/hca/table.h"
#include "sim/hca/transit.h"

extern char **environ;

struct mgds_hca_far_region {
    struct mgds_hca_far far;
    uint32_t number;
    uint32_t gone; /* the copies failed: keys are as if they were gone */
    void *copy;
    uint64_t bytes;
};

/* The process that copies; under the lock. */
static struct {
    bool started;
    int socket; /* -1: it could not be */
    struct mgds_hca_table regions;
} mover;

/* Calls of the driver that the program has loaded. */
struct driver {
    CUresult (*cuPointerGetAttribute)(void *data, CUpointer_attribute what,
                                      CUdeviceptr ptr);
    CUresult (*cuMemGetAddressRange_v2)(CUdeviceptr *base, size_t *bytes,
                                        CUdeviceptr ptr);
    CUresult (*cuIpcGetMemHandle)(CUipcMemHandle *handle, CUdeviceptr ptr);
    CUresult (*cuDeviceGetPCIBusId)(char *id, int size, CUdevice device);
    CUresult (*cuCtxPushCurrent_v2)(CUcontext ctx);
    CUresult (*cuCtxPopCurrent_v2)(CUcontext *ctx);
};

/* False: there is none, or memory of its GPUs is reached directly. */
static bool load_driver(struct driver *cu)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    bool found;

    if (!library)
        return false;
#define LOAD(name) (cu->name = (__typeof__(cu->name))dlsym(library, #name))
    found = LOAD(cuPointerGetAttribute) && LOAD(cuMemGetAddressRange_v2) &&
            LOAD(cuIpcGetMemHandle) && LOAD(cuDeviceGetPCIBusId) &&
            LOAD(cuCtxPushCurrent_v2) && LOAD(cuCtxPopCurrent_v2);
#undef LOAD
    if (dlsym(library, "mgds_sim_pin") && !mgds_hca_settings()->gpu_process)
        found = false;
    dlclose(library);
    return found;
}

/* True for memory of a GPU that the host does not reach as well. */
static bool is_on_gpu(const struct driver *cu, CUdeviceptr ptr)
{
    unsigned type = 0, managed = 0;

    return cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     ptr) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE &&
           cu->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                     ptr) == CUDA_SUCCESS &&
           !managed;
}

/* The context of the memory is current. */
static int describe(const struct driver *cu, CUdeviceptr ptr, uint64_t bytes,
                    struct mgds_hca_far_place *place)
{
    CUipcMemHandle handle;
    CUdeviceptr base;
    size_t size;
    int device;

    _Static_assert(sizeof(handle) == sizeof(place->ipc), "a handle fits");
    if (cu->cuMemGetAddressRange_v2(&base, &size, ptr) != CUDA_SUCCESS ||
        bytes == 0 || bytes > base + size - ptr ||
        cu->cuIpcGetMemHandle(&handle, base) != CUDA_SUCCESS ||
        cu->cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  ptr) != CUDA_SUCCESS ||
        cu->cuDeviceGetPCIBusId(place->bus_id, sizeof(place->bus_id), device) !=
            CUDA_SUCCESS)
        return -EFAULT;
    memcpy(place->ipc, &handle, sizeof(handle));
    place->offset = ptr - base;
    return 0;
}

int mgds_hca_far_ask(uint64_t start, uint64_t bytes,
                     struct mgds_hca_far_place *place)
{
    struct driver cu;
    CUcontext ctx;
    int rc;

    if (!load_driver(&cu) || !is_on_gpu(&cu, start))
        return -ENOENT;
    if (cu.cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, start) !=
            CUDA_SUCCESS ||
        cu.cuCtxPushCurrent_v2(ctx) != CUDA_SUCCESS)
        return -EFAULT;
    rc = describe(&cu, start, bytes, place);
    cu.cuCtxPopCurrent_v2(&ctx);
    return rc;
}

/* The program lies beside this library. */
static void mover_path(char path[PATH_MAX])
{
    Dl_info here;
    const char *end;

    dladdr((void *)(uintptr_t)mgds_hca_far_ask, &here);
    end = strrchr(here.dli_fname, '/');
    snprintf(path, PATH_MAX, "%.*s/mpix-sim-hca-mover",
             end ? (int)(end - here.dli_fname) : 1, end ? here.dli_fname : ".");
}

/* The program's environment without the library that is put before it. */
static char **copy_environment(void)
{
    size_t count = 0, kept = 0;
    char **copy;

    while (environ[count])
        count++;
    copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
            copy[kept++] = environ[i];
    }
    return copy;
}

static int spawn(int socket)
{
    char path[PATH_MAX], number[16];
    char *argv[] = {path, number, NULL}, **environment = copy_environment();
    posix_spawn_file_actions_t actions;
    int rc = -ENOMEM, status;
    pid_t pid;

    if (!environment)
        return rc;
    mover_path(path);
    snprintf(number, sizeof(number), "%d", socket);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, socket); /* inherited */
    rc = -posix_spawn(&pid, path, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    if (rc == 0)
        waitpid(pid, &status, 0); /* its child goes on */
    return rc;
}

static int start_mover(void)
{
    int ends[2], rc;

    if (mover.started)
        return mover.socket < 0 ? -ENODEV : 0;
    mover.started = true;
    mover.socket = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    rc = spawn(ends[1]);
    close(ends[1]);
    if (rc == 0) {
        mover.socket = ends[0];
        return 0;
    }
    close(ends[0]);
    mgds_err("software HCA: mpix-sim-hca-mover: %s: memory of a GPU is not "
             "registered: build it (cmake --build), or install it again",
             strerrordesc_np(-rc));
    return -ENODEV;
}

/* Sends it, with a descriptor or -1, and waits for the answer. */
static int ask_mover(const struct mgds_mover_request *request, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec part = {(void *)(uintptr_t)request, sizeof(*request)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mgds_mover_answer answer;
    ssize_t got;

    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    }
    if (sendmsg(mover.socket, &message, MSG_NOSIGNAL) < 0)
        return -errno;
    do
        got = recv(mover.socket, &answer, sizeof(answer), 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(answer) ? answer.rc : -EPIPE;
}

static void copy_part(struct mgds_hca_far_region *region,
                      enum mgds_mover_what what, uint64_t offset,
                      uint64_t bytes)
{
    struct mgds_mover_request request = {.what = what,
                                         .region = region->number,
                                         .offset = offset,
                                         .bytes = bytes};
    int rc = bytes > 0 && !region->gone ? ask_mover(&request, -1) : 0;

    if (rc == 0)
        return;
    mgds_warn("software HCA: memory of a GPU cannot be reached any more: %s: "
              "its keys have ended",
              strerrordesc_np(-rc));
    __atomic_store_n(&region->gone, 1, __ATOMIC_RELEASE);
}

static void pull(void *ctx, uint64_t offset, uint64_t bytes)
{
    copy_part(ctx, MGDS_MOVER_PULL, offset, bytes);
}

static void push(void *ctx, uint64_t offset, uint64_t bytes)
{
    copy_part(ctx, MGDS_MOVER_PUSH, offset, bytes);
}

/* A copy that both processes have. */
static int make_copy(struct mgds_hca_far_region *region, int *fd)
{
    *fd = memfd_create("mpix-sim-hca-copy", MFD_CLOEXEC);
    if (*fd < 0)
        return -errno;
    region->copy = MAP_FAILED;
    if (ftruncate(*fd, (off_t)region->bytes) == 0)
        region->copy = mmap(NULL, region->bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED, *fd, 0);
    if (region->copy != MAP_FAILED)
        return 0;
    close(*fd);
    return -ENOMEM;
}

static int tell_mover(const struct mgds_hca_far_region *region,
                      const struct mgds_hca_far_place *place, int fd)
{
    struct mgds_mover_request request = {.what = MGDS_MOVER_ADD,
                                         .region = region->number,
                                         .offset = place->offset,
                                         .bytes = region->bytes};

    memcpy(request.bus_id, place->bus_id, sizeof(request.bus_id));
    memcpy(request.ipc, place->ipc, sizeof(request.ipc));
    return ask_mover(&request, fd);
}

static int open_region(struct mgds_hca *engine,
                       struct mgds_hca_far_region *region,
                       const struct mgds_hca_far_place *place)
{
    struct mgds_hca_region known = {.bytes = region->bytes,
                                    .ordering = MGDS_HCA_ORDERING_ALL,
                                    .far = &region->far};
    int rc, fd;

    rc = make_copy(region, &fd);
    if (rc < 0)
        return rc;
    rc = tell_mover(region, place, fd);
    close(fd);
    known.at = region->copy;
    if (rc == 0)
        rc = mgds_hca_transit_add(engine, &known);
    if (rc < 0)
        munmap(region->copy, region->bytes);
    return rc;
}

int mgds_hca_far_map(struct mgds_hca *engine,
                     const struct mgds_hca_far_place *place,
                     struct mgds_hca_memory *memory,
                     struct mgds_hca_far_region **out)
{
    struct mgds_hca_far_region *region = calloc(1, sizeof(*region));
    int rc = region ? start_mover() : -ENOMEM;

    if (rc < 0)
        goto fail;
    region->far =
        (struct mgds_hca_far){.pull = pull, .push = push, .ctx = region};
    region->bytes = memory->bytes;
    region->number =
        mgds_hca_table_add(&mover.regions, region, 1, MGDS_MOVER_REGIONS - 1);
    rc = region->number ? open_region(engine, region, place) : -ENOMEM;
    if (rc < 0)
        goto drop;
    memory->at = region->copy;
    memory->gone = &region->gone;
    *out = region;
    return 0;

drop:
    if (region->number)
        mgds_hca_table_drop(&mover.regions, region->number);
fail:
    free(region);
    return rc;
}

void mgds_hca_far_forget(void)
{
    if (mover.started)
        close(mover.socket);
    mover.socket = -1;
}

void mgds_hca_far_unmap(struct mgds_hca *engine,
                        struct mgds_hca_far_region *region)
{
    struct mgds_mover_request request = {.what = MGDS_MOVER_DROP,
                                         .region = region->number,
                                         .bytes = region->bytes};

    mgds_hca_transit_drop(engine, region->copy);
    ask_mover(&request, -1);
    munmap(region->copy, region->bytes);
    mgds_hca_table_drop(&mover.regions, region->number);
    free(region);
}
