/* Finds libnccl.so.2 and its calls; joins ranks into a communicator. */
#include "osu-extensions/nccl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "osu-extensions/library.h"

static const struct mgds_bench_library library = {"libnccl.so.2",
                                                  "nvidia/nccl/lib", "--nccl"};

struct mgds_bench_nccl mgds_bench_nccl;

static int table_fill(void *handle, char why[256])
{
    void *found;

#define X(name, result, params)                                                \
    found = mgds_bench_library_find(handle, &library, #name, why);             \
    if (!found)                                                                \
        return -ENOSYS;                                                        \
    memcpy(&mgds_bench_nccl.name, &found, sizeof(found));
#include "osu-extensions/nccl.def"
#undef X
    return 0;
}

int mgds_bench_nccl_find(const char *path, char why[256])
{
    void *handle = mgds_bench_library_open(&library, path, why);

    return handle ? table_fill(handle, why) : -ENOENT;
}

static int failed(int result, const char *call, char why[256])
{
    if (result == 0)
        return 0;
    snprintf(why, 256, "%s: %.150s (NCCL_DEBUG=WARN says more)", call,
             mgds_bench_nccl.ncclGetErrorString(result));
    return -EIO;
}

void mgds_bench_nccl_check(int result, const char *call)
{
    char why[256];

    if (failed(result, call, why) == 0)
        return;
    fprintf(stderr, "nccl: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int mgds_bench_nccl_join(struct nccl_comm **out, MPI_Comm comm, char why[256])
{
    struct nccl_id id = {{0}};
    int result = 0;
    int rank, ranks, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (rank == 0)
        result = mgds_bench_nccl.ncclGetUniqueId(&id);
    MPI_Bcast(&result, 1, MPI_INT, 0, comm);
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm);
    rc = failed(result, "ncclGetUniqueId", why);
    if (rc < 0)
        return rc;
    return failed(mgds_bench_nccl.ncclCommInitRank(out, ranks, id, rank),
                  "ncclCommInitRank", why);
}

/* 21903 is 2.19.3. */
void mgds_bench_nccl_version(char out[32])
{
    int version = 0;

    mgds_bench_nccl.ncclGetVersion(&version);
    snprintf(out, 32, "%d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
}
