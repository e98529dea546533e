/*
 * An MPI that takes GPU memory, stacked below the library: it has both names of
 * its functions, as an MPI and no tool, says yes to
 * MPIX_Query_cuda_support, and copies contents of GPU buffers of Send, Recv,
 * Isend, Irecv and Sendrecv through the driver, for the MPI below it that does
 * not. Requests of such messages end in Wait, Waitall or Test. At
 * MPI_Finalize rank 0 says how many messages to other ranks were in GPU memory,
 * at MPI_Session_finalize every rank that had some.
 *
 * AWARE_LIES=fail   says yes, and refuses GPU memory with MPI_ERR_BUFFER
 * AWARE_LIES=wrong  says yes, and moves other bytes
 * One thread.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/libcuda.h"
#include "shim/gds/cuda/driver_abi.h"

#define PENDING_MAX 1024

/* A buffer of the caller's, and what the MPI below works on instead. */
struct mirror {
    char *gpu;  /* first byte; NULL: not GPU memory */
    char *host; /* its copy */
    size_t bytes;
    void *for_below; /* stands to host as the caller's address to gpu */
};

static struct {
    struct mirror mirror;
    MPI_Request request;
    int up; /* copied back when it is complete */
} pending[PENDING_MAX];

static struct {
    CUresult (*cuPointerGetAttribute)(void *data, CUpointer_attribute attribute,
                                      CUdeviceptr ptr);
    CUresult (*cuMemcpy)(CUdeviceptr dst, CUdeviceptr src, size_t bytes);
} cu;

static int gpu_messages;

static uintptr_t below(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found)
        return (uintptr_t)found;
    fprintf(stderr, "aware: no %s below\n", name);
    abort();
}

/* The MPI below, and the other name of a function here, as an MPI has both. */
#define BELOW(name) ((__typeof__(&PMPI_##name))below("PMPI_" #name))
#define BOTH_NAMES(name)                                                       \
    extern __typeof__(MPI_##name) PMPI_##name                                  \
        __attribute__((alias("MPI_" #name)));

static int lies(const char *how)
{
    const char *asked = getenv("AWARE_LIES");

    return asked && strcmp(asked, how) == 0;
}

static void driver_find(void)
{
    char why[256];
    void *found;

    if (cu.cuMemcpy || !dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) ||
        mgds_libcuda_open(why) < 0)
        return;
    found = mgds_libcuda_find("cuPointerGetAttribute", 4000);
    memcpy(&cu.cuPointerGetAttribute, &found, sizeof(found));
    found = mgds_libcuda_find("cuMemcpy", 4000);
    memcpy(&cu.cuMemcpy, &found, sizeof(found));
}

static unsigned attribute(const void *at, CUpointer_attribute which)
{
    unsigned value = 0;

    if (cu.cuPointerGetAttribute(&value, which, (CUdeviceptr)(uintptr_t)at) !=
        CUDA_SUCCESS)
        return 0;
    return value;
}

/* Managed memory is the host's too: the MPI below takes it as it is. */
static int on_gpu(const void *at)
{
    driver_find();
    return at && at != MPI_BOTTOM && cu.cuMemcpy &&
           attribute(at, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) ==
               CU_MEMORYTYPE_DEVICE &&
           !attribute(at, CU_POINTER_ATTRIBUTE_IS_MANAGED);
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (cu.cuMemcpy((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from,
                    bytes) == CUDA_SUCCESS)
        return;
    fprintf(stderr, "aware: cuMemcpy failed\n");
    abort();
}

/* Gaps of the datatype are mirrored too: what comes back is complete. */
static struct mirror look(const void *buf, MPI_Count count, MPI_Datatype type)
{
    struct mirror m = {.for_below = (void *)(uintptr_t)buf};
    MPI_Aint lb, extent, low, span;

    if (count == 0 || !on_gpu(buf))
        return m;
    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &low, &span);
    m.bytes = (size_t)(span + (count - 1) * extent);
    m.gpu = (char *)(uintptr_t)buf + low;
    m.host = malloc(m.bytes ? m.bytes : 1);
    if (!m.host)
        abort();
    copy(m.host, m.gpu, m.bytes);
    if (lies("wrong") && m.bytes > 0)
        m.host[m.bytes - 1] = (char)~m.host[m.bytes - 1];
    m.for_below = m.host - low;
    return m;
}

static void finish(struct mirror *m, int up)
{
    if (up && m->gpu)
        copy(m->gpu, m->host, m->bytes);
    free(m->host);
    *m = (struct mirror){0};
}

static int refused(const struct mirror *m, MPI_Comm comm)
{
    if (!m->gpu || !lies("fail"))
        return 0;
    PMPI_Comm_call_errhandler(comm, MPI_ERR_BUFFER);
    return 1;
}

static void count(const struct mirror *m, int peer, MPI_Comm comm)
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    gpu_messages += m->gpu && peer != rank;
}

static void keep(MPI_Request request, const struct mirror *m, int up)
{
    for (int i = 0; m->gpu && i < PENDING_MAX; i++) {
        if (pending[i].mirror.gpu)
            continue;
        pending[i].request = request;
        pending[i].mirror = *m;
        pending[i].up = up;
        return;
    }
    if (m->gpu)
        abort();
}

static void completed(MPI_Request request)
{
    for (int i = 0; i < PENDING_MAX; i++) {
        if (pending[i].mirror.gpu && pending[i].request == request)
            finish(&pending[i].mirror, pending[i].up);
    }
}

int MPIX_Query_cuda_support(void)
{
    return 1;
}

int MPIX_GPU_query_support(int type, int *is_supported)
{
    *is_supported = type == MPIX_GPU_SUPPORT_CUDA;
    return MPI_SUCCESS;
}

int MPI_Send(const void *buf, int n, MPI_Datatype type, int dest, int tag,
             MPI_Comm comm)
{
    struct mirror m = look(buf, n, type);
    int rc = MPI_ERR_BUFFER;

    count(&m, dest, comm);
    if (!refused(&m, comm))
        rc = BELOW(Send)(m.for_below, n, type, dest, tag, comm);
    finish(&m, 0);
    return rc;
}

int MPI_Recv(void *buf, int n, MPI_Datatype type, int source, int tag,
             MPI_Comm comm, MPI_Status *status)
{
    struct mirror m = look(buf, n, type);
    int rc = MPI_ERR_BUFFER;

    if (!refused(&m, comm))
        rc = BELOW(Recv)(m.for_below, n, type, source, tag, comm, status);
    finish(&m, 1);
    return rc;
}

int MPI_Isend(const void *buf, int n, MPI_Datatype type, int dest, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    struct mirror m = look(buf, n, type);
    int rc;

    if (refused(&m, comm))
        return MPI_ERR_BUFFER;
    count(&m, dest, comm);
    rc = BELOW(Isend)(m.for_below, n, type, dest, tag, comm, request);
    keep(*request, &m, 0);
    return rc;
}

int MPI_Irecv(void *buf, int n, MPI_Datatype type, int source, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    struct mirror m = look(buf, n, type);
    int rc;

    if (refused(&m, comm))
        return MPI_ERR_BUFFER;
    rc = BELOW(Irecv)(m.for_below, n, type, source, tag, comm, request);
    keep(*request, &m, 1);
    return rc;
}

int MPI_Sendrecv(const void *sbuf, int sn, MPI_Datatype stype, int dest,
                 int stag, void *rbuf, int rn, MPI_Datatype rtype, int source,
                 int rtag, MPI_Comm comm, MPI_Status *status)
{
    struct mirror s = look(sbuf, sn, stype);
    struct mirror r = look(rbuf, rn, rtype);
    int rc = MPI_ERR_BUFFER;

    count(&s, dest, comm);
    if (!refused(&s, comm) && !refused(&r, comm))
        rc = BELOW(Sendrecv)(s.for_below, sn, stype, dest, stag, r.for_below,
                             rn, rtype, source, rtag, comm, status);
    finish(&s, 0);
    finish(&r, 1);
    return rc;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MPI_Request before = *request;
    int rc = BELOW(Wait)(request, status);

    completed(before);
    return rc;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    MPI_Request before = *request;
    int rc = BELOW(Test)(request, flag, status);

    if (*flag)
        completed(before);
    return rc;
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    MPI_Request *before = malloc((size_t)n * sizeof(*before));
    int rc;

    if (n > 0 && !before)
        abort();
    memcpy(before, requests, (size_t)n * sizeof(*before));
    rc = BELOW(Waitall)(n, requests, statuses);
    for (int i = 0; i < n; i++)
        completed(before[i]);
    free(before);
    return rc;
}

int MPI_Finalize(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("aware: %d messages in GPU memory\n", gpu_messages);
    fflush(stdout);
    return BELOW(Finalize)();
}

/* Ends all that a program of sessions does; also those of a library above. */
int MPI_Session_finalize(MPI_Session *session)
{
    if (gpu_messages > 0)
        printf("aware: %d messages in GPU memory\n", gpu_messages);
    fflush(stdout);
    return BELOW(Session_finalize)(session);
}

BOTH_NAMES(Session_finalize)
BOTH_NAMES(Send)
BOTH_NAMES(Recv)
BOTH_NAMES(Isend)
BOTH_NAMES(Irecv)
BOTH_NAMES(Sendrecv)
BOTH_NAMES(Wait)
BOTH_NAMES(Test)
BOTH_NAMES(Waitall)
BOTH_NAMES(Finalize)
