/*
 * What a process that is killed does to another one that has mapped its GPU
 * memory: a report, one line for each call that the other makes afterwards.
 * Memory is exported by a legacy handle (cuIpcGetMemHandle) or by cuMemCreate
 * with a POSIX file descriptor; the importer is idle, or copies out of the
 * memory, when the exporter dies. Each of the four is played by two processes
 * of their own, for an error may be for good.
 *
 *   dead_exporter [GPU of the exporter [of the importer [copies]]]
 *
 * Exit status: 0 when all four were played, whatever came of them; 77: no GPU.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "osu-extensions/libcuda.h"
#include "shim/gds/cuda/driver_abi.h"

#define BYTES ((size_t)256 << 20)
enum { COPIES = 200 /* under way, unless told */, SKIPPED = 77 };

#define CALLS(X)                                                               \
    X(cuInit, 2000, (unsigned))                                                \
    X(cuDeviceGetCount, 2000, (int *))                                         \
    X(cuDevicePrimaryCtxRetain, 7000, (CUcontext *, CUdevice))                 \
    X(cuCtxSetCurrent, 4000, (CUcontext))                                      \
    X(cuCtxSynchronize, 2000, (void))                                          \
    X(cuGetErrorName, 6000, (CUresult, const char **))                         \
    X(cuStreamCreate, 2000, (CUstream *, unsigned))                            \
    X(cuStreamQuery, 2000, (CUstream))                                         \
    X(cuStreamSynchronize, 2000, (CUstream))                                   \
    X(cuMemAlloc, 3020, (CUdeviceptr *, size_t))                               \
    X(cuMemcpyDtoH, 3020, (void *, CUdeviceptr, size_t))                       \
    X(cuMemcpyAsync, 4000, (CUdeviceptr, CUdeviceptr, size_t, CUstream))       \
    X(cuMemsetD8, 3020, (CUdeviceptr, unsigned char, size_t))                  \
    X(cuIpcGetMemHandle, 4010, (CUipcMemHandle *, CUdeviceptr))                \
    X(cuIpcOpenMemHandle, 11000, (CUdeviceptr *, CUipcMemHandle, unsigned))    \
    X(cuIpcCloseMemHandle, 4010, (CUdeviceptr))                                \
    X(cuMemCreate, 10020,                                                      \
      (CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,    \
       unsigned long long))                                                    \
    X(cuMemExportToShareableHandle, 10020,                                     \
      (void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType,        \
       unsigned long long))                                                    \
    X(cuMemImportFromShareableHandle, 10020,                                   \
      (CUmemGenericAllocationHandle *, void *, CUmemAllocationHandleType))     \
    X(cuMemAddressReserve, 10020,                                              \
      (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long))        \
    X(cuMemMap, 10020,                                                         \
      (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,              \
       unsigned long long))                                                    \
    X(cuMemSetAccess, 10020,                                                   \
      (CUdeviceptr, size_t, const CUmemAccessDesc *, size_t))                  \
    X(cuMemUnmap, 10020, (CUdeviceptr, size_t))

static struct {
#define X(name, version, params) CUresult(*name) params;
    CALLS(X)
#undef X
} cu;

struct row {
    const char *name;
    bool legacy;
    int copies;             /* under way when the exporter dies */
    int exporter, importer; /* GPUs */
};

static void fail(const char *what)
{
    fprintf(stderr, "dead_exporter: %s: %s\n", what, strerror(errno));
    exit(1);
}

static const char *name_of(CUresult rc)
{
    const char *name = "unknown";

    cu.cuGetErrorName(rc, &name);
    return name;
}

static void must(CUresult rc, const char *what)
{
    if (rc == CUDA_SUCCESS)
        return;
    fprintf(stderr, "dead_exporter: %s: %s\n", what, name_of(rc));
    exit(1);
}
#define OK(call) must(cu.call, #call)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* 0, or SKIPPED. */
static int begin(int gpu)
{
    char why[256];
    CUcontext ctx;
    int count = 0;

    if (mgds_libcuda_open(why) < 0) {
        printf("%s\n", why);
        return SKIPPED;
    }
#define X(name, version, params)                                               \
    *(void **)&cu.name = mgds_libcuda_find(#name, version);
    CALLS(X)
#undef X
    if (cu.cuInit(0) != CUDA_SUCCESS ||
        cu.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
        printf("no GPU\n");
        return SKIPPED;
    }
    OK(cuDevicePrimaryCtxRetain(&ctx, gpu % count));
    OK(cuCtxSetCurrent(ctx));
    return 0;
}

static void send_fd(int sock, int fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof(fd))] = {0};
    struct iovec io = {&byte, 1};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof(room)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    if (sendmsg(sock, &message, 0) != 1)
        fail("sendmsg");
}

static int recv_fd(int sock)
{
    char byte, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec io = {&byte, 1};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof(room)};
    int fd = -1;

    if (recvmsg(sock, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
        fail("recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, int gpu)
{
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at;

    OK(cuMemAddressReserve(&at, BYTES, 0, 0, 0));
    OK(cuMemMap(at, BYTES, 0, handle, 0));
    OK(cuMemSetAccess(at, BYTES, &access, 1));
    return at;
}

static void export_legacy(int sock)
{
    CUipcMemHandle handle;
    CUdeviceptr at;

    OK(cuMemAlloc(&at, BYTES));
    OK(cuMemsetD8(at, 0x5a, BYTES));
    OK(cuCtxSynchronize());
    OK(cuIpcGetMemHandle(&handle, at));
    if (write(sock, &handle, sizeof(handle)) != sizeof(handle))
        fail("write");
}

static void export_fd(int sock, int gpu)
{
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    int fd;

    OK(cuMemCreate(&handle, BYTES, &prop, 0));
    at = map(handle, gpu);
    OK(cuMemsetD8(at, 0x5a, BYTES));
    OK(cuCtxSynchronize());
    OK(cuMemExportToShareableHandle(
        &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(sock, fd);
}

/* Until it is killed. */
static void be_exporter(const struct row *row, int sock)
{
    if (begin(row->exporter))
        exit(SKIPPED);
    if (row->legacy)
        export_legacy(sock);
    else
        export_fd(sock, row->exporter);
    for (;;)
        pause();
}

static CUdeviceptr import(const struct row *row, int sock)
{
    CUmemGenericAllocationHandle generic;
    CUipcMemHandle handle;
    CUdeviceptr at;

    if (!row->legacy) {
        OK(cuMemImportFromShareableHandle(
            &generic, (void *)(uintptr_t)recv_fd(sock),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        return map(generic, row->importer);
    }
    if (read(sock, &handle, sizeof(handle)) != sizeof(handle))
        fail("read");
    OK(cuIpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    return at;
}

static void report(const struct row *row, const char *what, CUresult rc,
                   double begin)
{
    printf("%-12s %-44s %s (%.1f ms)\n", row->name, what, name_of(rc),
           now() - begin);
    fflush(stdout);
}

#define REPORT(row, call)                                                      \
    do {                                                                       \
        double begin_ = now();                                                 \
        CUresult rc_ = cu.call;                                                \
                                                                               \
        report(row, #call, rc_, begin_);                                       \
    } while (0)

static void use(const struct row *row, CUdeviceptr theirs, CUdeviceptr own,
                CUstream stream)
{
    unsigned char byte = 0;

    REPORT(row, cuStreamQuery(stream));
    REPORT(row, cuStreamSynchronize(stream));
    REPORT(row, cuMemcpyDtoH(&byte, own, 1));
    REPORT(row, cuMemcpyDtoH(&byte, theirs, 1));
    printf("%-12s its byte is 0x%02x, 0x5a was written\n", row->name, byte);
    REPORT(row, cuMemcpyAsync(own, theirs, BYTES, stream));
    REPORT(row, cuMemcpyAsync(theirs, own, BYTES, stream));
    REPORT(row, cuStreamSynchronize(stream));
    REPORT(row, cuMemcpyDtoH(&byte, own, 1));
    if (row->legacy)
        REPORT(row, cuIpcCloseMemHandle(theirs));
    else
        REPORT(row, cuMemUnmap(theirs, BYTES));
    REPORT(row, cuMemcpyDtoH(&byte, own, 1));
    REPORT(row, cuCtxSynchronize());
}

static void be_importer(const struct row *row, int sock, pid_t exporter)
{
    CUdeviceptr theirs, own;
    CUstream stream;

    if (begin(row->importer))
        exit(SKIPPED);
    theirs = import(row, sock);
    OK(cuMemAlloc(&own, BYTES));
    OK(cuMemsetD8(own, 0, BYTES));
    OK(cuCtxSynchronize()); /* not in the order of the stream */
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemcpyAsync(own, theirs, BYTES, stream));
    OK(cuStreamSynchronize(stream));
    for (int i = 0; i < row->copies; i++)
        OK(cuMemcpyAsync(own, theirs, BYTES, stream));
    kill(exporter, SIGKILL);
    if (waitpid(exporter, NULL, 0) != exporter)
        fail("waitpid");
    use(row, theirs, own, stream);
    fflush(stdout);
    _exit(0);
}

/* The importer is the exporter's parent, and a child itself: it may die. */
static int play(const struct row *row)
{
    int pair[2], status;
    pid_t importer, exporter;

    importer = fork();
    if (importer < 0)
        fail("fork");
    if (importer == 0) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
            fail("socketpair");
        exporter = fork();
        if (exporter < 0)
            fail("fork");
        if (exporter == 0)
            be_exporter(row, pair[1]);
        be_importer(row, pair[0], exporter);
    }
    if (waitpid(importer, &status, 0) != importer)
        fail("waitpid");
    if (WIFSIGNALED(status))
        printf("%-12s the importer was ended by signal %d\n", row->name,
               WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(int argc, char **argv)
{
    int exporter = argc > 1 ? atoi(argv[1]) : 0;
    int importer = argc > 2 ? atoi(argv[2]) : 1;
    int copies = argc > 3 ? atoi(argv[3]) : COPIES;
    const struct row rows[] = {
        {"legacy idle", true, 0, exporter, importer},
        {"legacy busy", true, copies, exporter, importer},
        {"fd idle", false, 0, exporter, importer},
        {"fd busy", false, copies, exporter, importer},
    };
    int rc = 0;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == 0; i++)
        rc = play(&rows[i]);
    return rc;
}
