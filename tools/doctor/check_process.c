/* Checks of what every rank needs: our files, our library, MPI, limits. */
#include "tools/doctor/exam.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_MAX];

    return mgds_place_join(path, folder, name) == 0 && access(path, R_OK) == 0;
}

int mgds_installation_look(struct mgds_exam *exam)
{
    const struct {
        const char *folder;
        const char *name;
    } file[] = {
        {exam->place->lib, MGDS_LIBRARY_NAME},
        {exam->place->bin, "mpix-gds-run"},
        {exam->place->bin, "mpix-gds-probe"},
    };

    exam->missing[0] = '\0';
    for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++)
        if (!is_there(file[i].folder, file[i].name))
            return mgds_place_join(exam->missing, file[i].folder, file[i].name);
    return 0;
}

void mgds_check_installation(struct mgds_finding *finding,
                             const struct mgds_exam *exam)
{
    if (!exam->missing[0]) {
        mgds_finding_set(finding, MGDS_OK, "version %s, library in %.900s",
                         MGDS_VERSION, exam->place->lib);
        return;
    }
    mgds_finding_set(finding, MGDS_BROKEN, "%.900s is missing", exam->missing);
    mgds_finding_remedy(finding, "build all of mpix-gds (cmake --build), "
                                 "or install it again");
}

static bool no_ranks(struct mgds_finding *finding, const struct mgds_exam *exam)
{
    if (exam->facts.count > 0)
        return false;
    mgds_finding_set(finding, MGDS_UNKNOWN, "no rank reported");
    return true;
}

/* Why the library of this rank is of no use; false if it is of use. */
static bool is_ineffective(struct mgds_finding *finding,
                           const struct mgds_rank_facts *rank)
{
    const struct mgds_library_facts *library = &rank->library;

    if (!library->found) {
        mgds_finding_set(finding, MGDS_BROKEN,
                         "libmpix_gds.so is not in the process of rank %d",
                         rank->rank);
        mgds_finding_remedy(finding, "start programs with mpix-gds-run (is the "
                                     "library built, and readable there?)");
        return true;
    }
    if (library->error != 0 || library->state < 0 || library->state > 1) {
        mgds_finding_set(finding, MGDS_BROKEN,
                         "%.800s of rank %d gives no sound answer: error %d, "
                         "state %lld",
                         library->path, rank->rank, library->error,
                         (long long)library->state);
        mgds_finding_remedy(finding, "install library and tools of one build");
        return true;
    }
    if (library->state == 1)
        return false;
    mgds_finding_set(finding, MGDS_BROKEN,
                     "%.800s is in rank %d, but inert: it passes every call on",
                     library->path, rank->rank);
    mgds_finding_remedy(finding, "use a program linked with MPICH or an MPI of "
                                 "its ABI, and leave MPIX_GDS_ENABLE at yes");
    return true;
}

void mgds_check_library(struct mgds_finding *finding,
                        const struct mgds_exam *exam)
{
    const struct mgds_facts *facts = &exam->facts;

    if (no_ranks(finding, exam))
        return;
    for (size_t i = 0; i < facts->count; i++) {
        const struct mgds_library_facts *library = &facts->rank[i].library;

        if (is_ineffective(finding, &facts->rank[i]))
            return;
        if (library->version == MGDS_VERSION_NUMBER)
            continue;
        mgds_finding_set(finding, MGDS_FALLBACK,
                         "%.800s of rank %zu has version %lld, the tools %d",
                         library->path, i, (long long)library->version,
                         MGDS_VERSION_NUMBER);
        mgds_finding_remedy(finding, "install library and tools of one build");
        return;
    }
    mgds_finding_set(finding, MGDS_OK, "active in every rank: %.900s",
                     facts->rank[0].library.path);
}

/* MPIs that keep MPICH's handles (the MPICH ABI initiative). */
static bool is_mpich_like(const struct mgds_mpi_facts *mpi)
{
    static const char *const family[] = {"MPICH", "Intel(R) MPI", "MVAPICH",
                                         "CRAY MPICH"};

    for (size_t i = 0; i < sizeof(family) / sizeof(family[0]); i++)
        if (strncmp(mpi->version, family[i], strlen(family[i])) == 0)
            return !mpi->pointer_handles;
    return false;
}

void mgds_check_mpi(struct mgds_finding *finding, const struct mgds_exam *exam)
{
    const struct mgds_mpi_facts *mpi;

    if (no_ranks(finding, exam))
        return;
    for (size_t i = 0; i < exam->facts.count; i++) {
        mpi = &exam->facts.rank[i].mpi;
        if (is_mpich_like(mpi))
            continue;
        mgds_finding_set(finding, MGDS_BROKEN,
                         "rank %zu runs on %.300s (%.300s), whose handles are "
                         "%s, not MPICH's",
                         i, mpi->version, mpi->path,
                         mpi->pointer_handles ? "pointers"
                                              : "of an unknown "
                                                "kind");
        mgds_finding_remedy(finding, "build and start programs with MPICH "
                                     "(mpicc.mpich, mpiexec.mpich)");
        return;
    }
    mpi = &exam->facts.rank[0].mpi;
    mgds_finding_set(finding, MGDS_OK, "%.300s, int handles, %.500s",
                     mpi->version, mpi->path);
}

static void describe_bytes(char *text, size_t size, json_int_t bytes)
{
    if (bytes < 0)
        snprintf(text, size, "unlimited");
    else if (bytes >= 1 << 20)
        snprintf(text, size, "%lld MiB", (long long)bytes >> 20);
    else
        snprintf(text, size, "%lld KiB", (long long)bytes >> 10);
}

/* Whether the progress thread, as the system has it, has only the core that its
 * rank polls on. Nothing is to be done where there is no other one. */
static bool shares_its_core(const struct mgds_rank_facts *rank)
{
    return rank->messages.asked && rank->messages.progress_cores == 1 &&
           rank->cores == 1 && rank->processors > 1;
}

static void describe_cores(struct mgds_finding *finding,
                           const struct mgds_rank_facts *rank)
{
    int progress = rank->messages.asked ? rank->messages.progress_cores : 0;

    mgds_finding_set(finding, MGDS_OK, "rank %d may use %d %s", rank->rank,
                     rank->cores, rank->cores == 1 ? "core" : "cores");
    if (progress > 0)
        mgds_finding_add(finding, ", the library's progress thread %d",
                         progress);
}

static const struct mgds_rank_facts *
fewest_cores(const struct mgds_facts *facts)
{
    const struct mgds_rank_facts *fewest = &facts->rank[0];

    for (size_t i = 0; i < facts->count; i++) {
        if (shares_its_core(&facts->rank[i]))
            return &facts->rank[i];
        if (facts->rank[i].cores < fewest->cores)
            fewest = &facts->rank[i];
    }
    return fewest;
}

void mgds_check_cores(struct mgds_finding *finding,
                      const struct mgds_exam *exam)
{
    const struct mgds_rank_facts *rank;

    if (no_ranks(finding, exam))
        return;
    rank = fewest_cores(&exam->facts);
    if (!shares_its_core(rank)) {
        describe_cores(finding, rank);
        return;
    }
    mgds_finding_set(finding, MGDS_FALLBACK,
                     "rank %d is bound to one core, which the library's "
                     "progress thread shares: a message may wait for the "
                     "scheduler's next turn, milliseconds",
                     rank->rank);
    mgds_finding_remedy(finding,
                        "give each rank two cores (mpiexec -bind-to core:2, "
                        "srun --cpus-per-task=2), and leave "
                        "MPIX_GDS_PROGRESS_AFFINITY unset");
}

static const struct mgds_rank_facts *
lowest_limit(const struct mgds_facts *facts)
{
    const struct mgds_rank_facts *lowest = &facts->rank[0];

    for (size_t i = 1; i < facts->count; i++) {
        json_int_t soft = facts->rank[i].memlock_soft;

        if (soft >= 0 &&
            (lowest->memlock_soft < 0 || soft < lowest->memlock_soft))
            lowest = &facts->rank[i];
    }
    return lowest;
}

/* A limit matters where an adapter pins what it reads and writes, for ranks of
 * other hosts. */
void mgds_check_memlock(struct mgds_finding *finding,
                        const struct mgds_exam *exam)
{
    const struct mgds_rank_facts *rank;
    char soft[32];
    char hard[32];
    bool matters;

    if (no_ranks(finding, exam))
        return;
    rank = lowest_limit(&exam->facts);
    matters = mgds_facts_hosts(&exam->facts) > 1 &&
              mgds_hca_active(mgds_facts_of_host(&exam->facts, rank)->hca) > 0;
    describe_bytes(soft, sizeof(soft), rank->memlock_soft);
    describe_bytes(hard, sizeof(hard), rank->memlock_hard);
    if (rank->memlock_soft < 0) {
        mgds_finding_set(finding, MGDS_OK, "unlimited in every rank");
        return;
    }
    mgds_finding_set(finding, matters ? MGDS_FALLBACK : MGDS_OK,
                     "%s (hard limit %s) in rank %d%s", soft, hard, rank->rank,
                     matters ? ": too little to register large buffers with an "
                               "HCA"
                             : "; enough where no HCA is used");
    if (matters)
        mgds_finding_remedy(finding,
                            "let the launcher start ranks without the limit "
                            "(ulimit -l unlimited; srun --propagate=NONE; "
                            "LimitMEMLOCK=infinity of slurmd)");
}
