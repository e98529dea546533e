/* Checks of devices: driver, GPUs, what they can do, RDMA adapters. Asked by
 * one rank of every host; the worst host is the one spoken of. */
#include "tools/doctor/exam.h"

#include <stdio.h>
#include <string.h>

#include "shim/base/config.h"

/* Calls judge for each host until one is not ok. */
typedef void mgds_host_judge(struct mgds_finding *finding,
                             const struct mgds_rank_facts *rank);

static void judge_hosts(struct mgds_finding *finding,
                        const struct mgds_exam *exam, mgds_host_judge *judge)
{
    const struct mgds_facts *facts = &exam->facts;

    mgds_finding_set(finding, MGDS_UNKNOWN, "no rank reported");
    for (size_t i = 0; i < facts->count; i++) {
        if (!facts->rank[i].asked_devices)
            continue;
        judge(finding, &facts->rank[i]);
        if (finding->state != MGDS_OK)
            return;
    }
}

static bool was_not_asked(const struct mgds_rank_facts *rank)
{
    return !rank->messages.asked;
}

static void judge_driver(struct mgds_finding *finding,
                         const struct mgds_rank_facts *rank)
{
    const struct mgds_gpu_facts *gpu = &rank->gpu;

    if (was_not_asked(rank)) {
        mgds_finding_set(finding, MGDS_OK,
                         "not asked for (--no-gpu): host buffers only");
    } else if (!gpu->found) {
        mgds_finding_set(finding, MGDS_FALLBACK,
                         "host buffers only: %s has no driver (%.600s)",
                         rank->host_name, gpu->error);
        mgds_finding_remedy(finding, "for GPU buffers install NVIDIA's driver "
                                     "there; or simulate one, --sim=gpu; or "
                                     "leave GPUs out, --no-gpu");
    } else if (gpu->error[0]) {
        mgds_finding_set(finding, MGDS_FALLBACK,
                         "host buffers only: %.300s of %s fails: %.400s",
                         gpu->path, rank->host_name, gpu->error);
        mgds_finding_remedy(finding, "see whether nvidia-smi works there, and "
                                     "what CUDA_VISIBLE_DEVICES is in the job");
    } else {
        mgds_finding_set(finding, MGDS_OK, "for CUDA %d.%d, %.600s",
                         gpu->version / 1000, gpu->version % 1000 / 10,
                         gpu->path);
    }
}

void mgds_check_driver(struct mgds_finding *finding,
                       const struct mgds_exam *exam)
{
    judge_hosts(finding, exam, judge_driver);
}

static bool has_no_gpu(struct mgds_finding *finding,
                       const struct mgds_rank_facts *rank)
{
    if (rank->gpu.count > 0)
        return false;
    mgds_finding_set(finding, MGDS_UNKNOWN, "no GPU on %s to examine",
                     rank->host_name);
    return true;
}

static void judge_gpus(struct mgds_finding *finding,
                       const struct mgds_rank_facts *rank)
{
    const struct mgds_gpu_facts *gpu = &rank->gpu;

    if (!gpu->found || gpu->error[0]) {
        has_no_gpu(finding, rank);
        return;
    }
    if (gpu->count == 0) {
        mgds_finding_set(finding, MGDS_FALLBACK,
                         "host buffers only: the driver of %s shows no device",
                         rank->host_name);
        mgds_finding_remedy(finding, "see what CUDA_VISIBLE_DEVICES is in the "
                                     "job, and which GPUs it was given");
        return;
    }
    mgds_finding_set(finding, MGDS_OK, "%zu: ", gpu->count);
    for (size_t i = 0; i < gpu->count; i++)
        mgds_finding_add(finding, "%s%zu %s", i > 0 ? ", " : "", i,
                         mgds_gpu_name(gpu, i));
}

void mgds_check_gpus(struct mgds_finding *finding, const struct mgds_exam *exam)
{
    judge_hosts(finding, exam, judge_gpus);
}

static void judge_peers(struct mgds_finding *finding,
                        const struct mgds_rank_facts *rank)
{
    const struct mgds_gpu_facts *gpu = &rank->gpu;
    size_t missing = 0;

    if (has_no_gpu(finding, rank))
        return;
    mgds_finding_set(finding, MGDS_FALLBACK,
                     "on %s not from GPU to GPU:", rank->host_name);
    for (size_t from = 0; from < gpu->count; from++)
        for (size_t to = 0; to < gpu->count; to++) {
            if (mgds_gpu_reaches(gpu, from, to))
                continue;
            missing++;
            mgds_finding_add(finding, " %zu-%zu", from, to);
        }
    if (missing > 0)
        mgds_finding_remedy(finding, "these pairs go through host memory; see "
                                     "nvidia-smi topo -p2p r");
    else
        mgds_finding_set(finding, MGDS_OK, "%s",
                         gpu->count == 1 ? "one GPU, nothing to reach"
                                         : "every GPU reaches every other");
}

void mgds_check_peers(struct mgds_finding *finding,
                      const struct mgds_exam *exam)
{
    judge_hosts(finding, exam, judge_peers);
}

/* As many streams as a GPU has hardware queues can stand in a wait; the rest of
 * the program's needs some, too. */
static bool has_few_queues(struct mgds_finding *finding)
{
    int queues = mgds_config_connections();

    if (queues == 0 || queues >= 32)
        return false;
    mgds_finding_set(finding, MGDS_FALLBACK,
                     "CUDA_DEVICE_MAX_CONNECTIONS=%d: no more than %d streams "
                     "of a GPU can wait for messages at a time",
                     queues, queues > 2 ? queues - 2 : 0);
    mgds_finding_remedy(finding, "unset it: mpix-gds-run sets 32, the most");
    return true;
}

/* The flush of remote writes is a matter of the HCA's path and told, not
 * judged: a fenced atomic does without. */
static void judge_memops(struct mgds_finding *finding,
                         const struct mgds_rank_facts *rank)
{
    static const char *const needed[] = {"memops_64", "wait_value_nor"};
    static const char *const told[] = {"flush_remote_writes", "gpu_direct_rdma",
                                       "dma_buf"};

    if (has_no_gpu(finding, rank))
        return;
    for (size_t i = 0; i < rank->gpu.count; i++)
        for (size_t j = 0; j < sizeof(needed) / sizeof(needed[0]); j++) {
            if (mgds_gpu_can(&rank->gpu, i, needed[j]))
                continue;
            mgds_finding_set(finding, MGDS_FALLBACK,
                             "GPU %zu of %s has no %s: kernels wait instead", i,
                             rank->host_name, needed[j]);
            mgds_finding_remedy(finding, "use a driver of CUDA 12 or newer");
            return;
        }
    if (has_few_queues(finding))
        return;
    mgds_finding_set(finding, MGDS_OK,
                     "memops_64, wait_value_nor; GPU 0 also:");
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        mgds_finding_add(finding, " %s%s",
                         mgds_gpu_can(&rank->gpu, 0, told[i]) ? "" : "no ",
                         told[i]);
}

void mgds_check_memops(struct mgds_finding *finding,
                       const struct mgds_exam *exam)
{
    judge_hosts(finding, exam, judge_memops);
}

static void list_adapters(struct mgds_finding *finding, const json_t *hca)
{
    const char *name;
    const char *layer;
    const char *rate;
    const char *state;
    json_t *device;
    size_t i;

    mgds_finding_set(finding, MGDS_OK, "%s", "");
    json_array_foreach (hca, i, device) {
        json_unpack(device, "{s:s s:s s:s s:s}", "name", &name, "layer", &layer,
                    "rate", &rate, "state", &state);
        mgds_finding_add(finding, "%s%s %s %s, port %s", i > 0 ? "; " : "",
                         name, layer, rate, state);
    }
}

/* What is down can be mended; what is not there is no fault: the network below
 * carries data between hosts without it. */
static void judge_no_hca(struct mgds_finding *finding,
                         const struct mgds_rank_facts *rank, bool needed)
{
    bool down = json_array_size(rank->hca) > 0;

    mgds_finding_set(finding, needed && down ? MGDS_FALLBACK : MGDS_OK,
                     "%s has %s%s", rank->host_name,
                     down ? "no HCA with an active port" : "no HCA",
                     needed ? ": data between hosts takes another network"
                            : "; ranks of one host need none");
    if (needed && down)
        mgds_finding_remedy(finding, "see whether ibv_devinfo shows an active "
                                     "port there");
}

void mgds_check_hca(struct mgds_finding *finding, const struct mgds_exam *exam)
{
    const struct mgds_facts *facts = &exam->facts;

    mgds_finding_set(finding, MGDS_UNKNOWN, "no rank reported");
    for (size_t i = 0; i < facts->count; i++) {
        const struct mgds_rank_facts *rank = &facts->rank[i];

        if (!rank->asked_devices)
            continue;
        if (mgds_hca_active(rank->hca) > 0) {
            list_adapters(finding, rank->hca);
            continue;
        }
        judge_no_hca(finding, rank, mgds_facts_hosts(facts) > 1);
        return;
    }
}
