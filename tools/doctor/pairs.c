/* The way of data between ranks. What ordinary calls carry goes by the MPI
 * underneath; what is enqueued on streams has paths of ours. */
#include "tools/doctor/pairs.h"

#include "tools/doctor/exam.h"

enum need {
    NEED_ONE_RANK = 1,
    NEED_TWO_RANKS = 2,
    NEED_ONE_HOST = 4,
    NEED_GPU = 8,
    NEED_PEERS = 16,
    NEED_HCA = 32
};

/* In the order of enum mgds_path. */
static const unsigned needs[MGDS_PATH_COUNT] = {
    [MGDS_PATH_SELF] = NEED_ONE_RANK | NEED_GPU,
    [MGDS_PATH_P2P] = NEED_TWO_RANKS | NEED_ONE_HOST | NEED_GPU | NEED_PEERS,
    [MGDS_PATH_IB_GPU] = NEED_TWO_RANKS | NEED_GPU | NEED_HCA,
    [MGDS_PATH_IB_CPU] = NEED_TWO_RANKS | NEED_GPU | NEED_HCA,
    [MGDS_PATH_UCX] = NEED_TWO_RANKS | NEED_GPU,
};

/* What goes by a path that nothing keeps a pair from. */
static const char *const carries[MGDS_PATH_COUNT] = {
    [MGDS_PATH_SELF] = "enqueued messages only in version " MGDS_VERSION,
    [MGDS_PATH_P2P] = "enqueued messages only in version " MGDS_VERSION,
    [MGDS_PATH_IB_GPU] = "not in version " MGDS_VERSION,
    [MGDS_PATH_IB_CPU] = "not in version " MGDS_VERSION,
    [MGDS_PATH_UCX] = "enqueued messages only in version " MGDS_VERSION,
};

static bool all_peers(const struct mgds_gpu_facts *gpu)
{
    for (size_t from = 0; from < gpu->count; from++)
        for (size_t to = 0; to < gpu->count; to++)
            if (!mgds_gpu_reaches(gpu, from, to))
                return false;
    return true;
}

/* What of the path's needs the pair lacks; both are the ranks that asked the
 * devices of their hosts. */
static const char *find_lack(int path, bool same_host,
                             const struct mgds_rank_facts *a,
                             const struct mgds_rank_facts *b)
{
    unsigned need = needs[path];

    if ((need & NEED_ONE_HOST) && !same_host)
        return "the ranks are on different hosts";
    if ((need & NEED_GPU) && (a->gpu.count == 0 || b->gpu.count == 0))
        return "no GPU";
    if ((need & NEED_PEERS) && !all_peers(&a->gpu))
        return "not every GPU reaches every other";
    if ((need & NEED_HCA) &&
        (mgds_hca_active(a->hca) == 0 || mgds_hca_active(b->hca) == 0))
        return "no HCA with an active port";
    return carries[path];
}

void mgds_pair_judge(struct mgds_pair *pair, const struct mgds_facts *facts,
                     size_t a, size_t b)
{
    const struct mgds_rank_facts *host_a =
        mgds_facts_of_host(facts, &facts->rank[a]);
    const struct mgds_rank_facts *host_b =
        mgds_facts_of_host(facts, &facts->rank[b]);
    unsigned foreign = a == b ? NEED_TWO_RANKS : NEED_ONE_RANK;

    *pair = (struct mgds_pair){.a = &facts->rank[a],
                               .b = &facts->rank[b],
                               .same_host = host_a == host_b,
                               .host_buffers = "mpi",
                               .gpu_buffers = "mpi"};
    for (int path = 0; path < MGDS_PATH_COUNT; path++)
        if (!(needs[path] & foreign))
            pair->why_not[path] =
                find_lack(path, pair->same_host, host_a, host_b);
}

static bool find_pair(struct mgds_pair *pair, const struct mgds_facts *facts,
                      bool same_host)
{
    for (size_t a = 0; a < facts->count; a++)
        for (size_t b = a + 1; b < facts->count; b++) {
            mgds_pair_judge(pair, facts, a, b);
            if (pair->same_host == same_host)
                return true;
        }
    return false;
}

static void describe(struct mgds_finding *finding, const char *kind,
                     const struct mgds_pair *pair)
{
    const char *separator = "";

    mgds_finding_add(finding, " %s (as %d-%d): ", kind, pair->a->rank,
                     pair->b->rank);
    for (int path = 0; path < MGDS_PATH_COUNT; path++) {
        if (!pair->why_not[path])
            continue;
        mgds_finding_add(finding, "%s%s, %s", separator, mgds_path_names[path],
                         pair->why_not[path]);
        separator = "; ";
    }
    mgds_finding_add(finding, ".");
}

/* Pairs of one kind differ in devices at most: the first stands for its kind
 * in the text, the JSON has them all. */
void mgds_check_pairs(struct mgds_finding *finding,
                      const struct mgds_exam *exam)
{
    const struct mgds_facts *facts = &exam->facts;
    struct mgds_pair pair;

    if (facts->count == 0) {
        mgds_finding_set(finding, MGDS_UNKNOWN, "no rank reported");
        return;
    }
    mgds_finding_set(finding, MGDS_FALLBACK,
                     "MPI carries host and GPU buffers; paths of ours:");
    mgds_pair_judge(&pair, facts, 0, 0);
    describe(finding, "a rank with itself", &pair);
    if (find_pair(&pair, facts, true))
        describe(finding, "on one host", &pair);
    if (find_pair(&pair, facts, false))
        describe(finding, "between hosts", &pair);
    mgds_finding_remedy(finding, "none needed for host buffers; GPU buffers "
                                 "need an MPI that takes them");
}
