/* Kernels by name, their grids, graphs. */
#include "osu-extensions/halo/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/kernels.h"
#include "osu-extensions/libcuda.h"
#include "shim/gds/cuda/driver_abi.h"

#define BLOCK_THREADS 256
#define BLOCKS_MOST 64

struct mgds_halo_launcher {
    CUstream stream;
    CUmodule module;
    CUfunction kernels[MGDS_HALO_KERNELS];
};

struct mgds_halo_graph {
    CUgraph graph;
    CUgraphExec exec;
};

static struct {
#define X(name, version, params) CUresult(*name) params;
#include "osu-extensions/halo/launch.def"
#undef X
} cu;

static int table_fill(char why[256])
{
    void *found;

#define X(name, version, params)                                               \
    found = mgds_libcuda_need(#name, version, why);                            \
    if (!found)                                                                \
        return -ENOSYS;                                                        \
    memcpy(&cu.name, &found, sizeof(found));
#include "osu-extensions/halo/launch.def"
#undef X
    return 0;
}

static int failed(CUresult rc, const char *call, char why[256])
{
    if (rc == CUDA_SUCCESS)
        return 0;
    snprintf(why, 256, "%s: CUDA error %d", call, (int)rc);
    return -EIO;
}

static int module_load(struct mgds_halo_launcher *l, char why[256])
{
    static const char *const names[MGDS_HALO_KERNELS] = {
        "halo_step", "halo_pack", "halo_unpack"};
    int rc = failed(cu.cuModuleLoadData(&l->module, mgds_kernel_image),
                    "the benchmark's kernels (was it built with nvcc?): "
                    "cuModuleLoadData",
                    why);

    for (int i = 0; rc == 0 && i < MGDS_HALO_KERNELS; i++)
        rc = failed(cu.cuModuleGetFunction(&l->kernels[i], l->module, names[i]),
                    "cuModuleGetFunction", why);
    return rc;
}

int mgds_halo_launcher_create(struct mgds_halo_launcher **out, void *stream,
                              char why[256])
{
    struct mgds_halo_launcher *l = calloc(1, sizeof(*l));
    int rc = l ? table_fill(why) : -ENOMEM;

    if (rc < 0)
        goto free_launcher;
    l->stream = stream;
    rc = module_load(l, why);
    if (rc < 0)
        goto free_launcher;
    *out = l;
    return 0;
free_launcher:
    free(l);
    return rc;
}

void mgds_halo_launcher_destroy(struct mgds_halo_launcher *launcher)
{
    cu.cuModuleUnload(launcher->module);
    free(launcher);
}

/* All faces at once, as far as a small part of the GPU goes. */
static unsigned blocks_of(const struct mgds_halo_args *args)
{
    unsigned blocks = args->elements / BLOCK_THREADS;

    if (blocks < 1)
        return 1;
    return blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST;
}

int mgds_halo_launch(struct mgds_halo_launcher *launcher,
                     enum mgds_halo_kernel which,
                     const struct mgds_halo_args *args)
{
    struct mgds_halo_args copy = *args;
    void *params[] = {&copy};
    CUresult rc = cu.cuLaunchKernel(launcher->kernels[which], blocks_of(args),
                                    1, 1, BLOCK_THREADS, 1, 1, 0,
                                    launcher->stream, params, NULL);

    return rc == CUDA_SUCCESS ? 0 : -EIO;
}

/* Relaxed: what NCCL does beside the stream is none of the graph's business. */
int mgds_halo_graph_begin(struct mgds_halo_launcher *launcher, char why[256])
{
    return failed(cu.cuStreamBeginCapture(launcher->stream,
                                          CU_STREAM_CAPTURE_MODE_RELAXED),
                  "cuStreamBeginCapture", why);
}

int mgds_halo_graph_end(struct mgds_halo_launcher *launcher,
                        struct mgds_halo_graph **out, char why[256])
{
    struct mgds_halo_graph *g = calloc(1, sizeof(*g));
    CUgraph graph = NULL;
    int rc = failed(cu.cuStreamEndCapture(launcher->stream, &graph),
                    "cuStreamEndCapture", why);

    if (rc == 0 && !g)
        rc = -ENOMEM;
    if (rc < 0)
        goto free_graph;
    g->graph = graph;
    rc = failed(cu.cuGraphInstantiateWithFlags(&g->exec, graph, 0),
                "cuGraphInstantiateWithFlags", why);
    if (rc < 0)
        goto destroy_graph;
    *out = g;
    return 0;
destroy_graph:
    cu.cuGraphDestroy(graph);
free_graph:
    free(g);
    return rc;
}

int mgds_halo_graph_launch(struct mgds_halo_launcher *launcher,
                           struct mgds_halo_graph *graph)
{
    CUresult rc = cu.cuGraphLaunch(graph->exec, launcher->stream);

    return rc == CUDA_SUCCESS ? 0 : -EIO;
}

void mgds_halo_graph_destroy(struct mgds_halo_graph *graph)
{
    if (!graph)
        return;
    cu.cuGraphExecDestroy(graph->exec);
    cu.cuGraphDestroy(graph->graph);
    free(graph);
}
