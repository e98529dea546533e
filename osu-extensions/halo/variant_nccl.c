/* NCCL's sends and receives of a step as one group; launched, or in a graph. */
#include <errno.h>
#include <stdlib.h>

#include "osu-extensions/halo/halo.h"
#include "osu-extensions/nccl.h"

struct mgds_halo_lane {
    struct nccl_comm *comm;
};

static int nccl_find(const struct mgds_halo_options *options, char why[256])
{
    return mgds_bench_nccl_find(options->nccl, why);
}

static int nccl_open(struct mgds_halo_lane **out, const struct mgds_halo *h,
                     char why[256])
{
    struct mgds_halo_lane *lane = calloc(1, sizeof(*lane));
    struct nccl_comm *comm = NULL;
    int rc = mgds_bench_nccl_join(&comm, h->world.comm, why);

    if (rc == 0 && !lane)
        rc = -ENOMEM;
    if (rc < 0) {
        free(lane);
        return rc;
    }
    lane->comm = comm;
    *out = lane;
    return 0;
}

static void nccl_close(struct mgds_halo_lane *lane)
{
    mgds_bench_nccl.ncclCommDestroy(lane->comm);
    free(lane);
}

/* NCCL has no tags: messages between two ranks match in the order of calls. A
 * rank that is the neighbour at both ends of a dimension sends its lower face
 * first, so that the upper one is received first here. */
static void nccl_exchange(struct mgds_halo_lane *lane,
                          const struct mgds_halo *h)
{
    int faces = 2 * (int)h->args.dims;

    MGDS_BENCH_NCCL(ncclGroupStart());
    for (int f = 0; f < faces; f++) {
        if (h->neighbours >> f & 1)
            MGDS_BENCH_NCCL(ncclSend(mgds_halo_out(h, f), h->bytes,
                                     MGDS_BENCH_NCCL_BYTES, h->neighbour[f],
                                     lane->comm, h->stream));
    }
    for (int i = 0; i < faces; i++) {
        int f = i ^ 1;

        if (h->neighbours >> f & 1)
            MGDS_BENCH_NCCL(ncclRecv(mgds_halo_in(h, f), h->bytes,
                                     MGDS_BENCH_NCCL_BYTES, h->neighbour[f],
                                     lane->comm, h->stream));
    }
    MGDS_BENCH_NCCL(ncclGroupEnd());
}

const struct mgds_halo_variant mgds_halo_nccl = {
    .name = "nccl",
    .title = "NCCL group",
    .find = nccl_find,
    .open = nccl_open,
    .close = nccl_close,
    .exchange = nccl_exchange,
    .version = mgds_bench_nccl_version,
};

const struct mgds_halo_variant mgds_halo_nccl_graph = {
    .name = "nccl_graph",
    .title = "NCCL in a graph",
    .graph = true,
    .find = nccl_find,
    .open = nccl_open,
    .close = nccl_close,
    .exchange = nccl_exchange,
    .version = mgds_bench_nccl_version,
};
