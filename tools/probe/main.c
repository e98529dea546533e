/* mpix-gds-probe: an MPI program that finds out, inside its ranks, what the
 * doctor needs to know, and lets rank 0 print it:
 *   mpiexec -n 2 mpix-gds-run mpix-gds-probe | mpix-gds-doctor --read - */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "shim/base/host.h"
#include "tools/probe/facts.h"

enum { MGDS_HOST_BYTES = 256 };

static const char usage[] =
    "usage: mpiexec -n N mpix-gds-run mpix-gds-probe | mpix-gds-doctor --read "
    "-\n"
    "Prints, as JSON between two marked lines, what each rank finds: the\n"
    "library, MPI, limits; GPUs and adapters of each host. mpix-gds-doctor\n"
    "starts it, and judges what it prints.\n"
    "  --version, --help  print that, and exit\n"
    "Exit status: 0 printed, 1 not, 2 bad usage.\n";

struct world {
    int rank;
    int size;
};

static _Noreturn void stop(const char *what, int rc)
{
    fprintf(stderr, "mpix-gds-probe: %s: %s\n", what, strerror(-rc));
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1); /* an abort may return */
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory)
        stop("memory", -ENOMEM);
    return memory;
}

/* Is this the lowest rank of its host? One rank is enough to ask a device. */
static int is_first_on_host(const char *host, const struct world *world)
{
    char *all = allocate((size_t)world->size, MGDS_HOST_BYTES);
    int first = 0;

    MPI_Allgather(host, MGDS_HOST_BYTES, MPI_CHAR, all, MGDS_HOST_BYTES,
                  MPI_CHAR, MPI_COMM_WORLD);
    while (strcmp(all + (size_t)first * MGDS_HOST_BYTES, host) != 0)
        first++;
    free(all);
    return first == world->rank;
}

static json_t *examine(const struct world *world)
{
    char host[MGDS_HOST_BYTES] = {0};
    char name[MGDS_HOST_BYTES] = {0};
    json_t *library = mgds_probe_library(); /* before any device is touched */
    json_t *mpi = mgds_probe_mpi();
    int rc = mgds_host_name(host, sizeof(host));
    int first;

    if (rc < 0)
        stop("identity of this host", rc);
    gethostname(name, sizeof(name) - 1);
    first = is_first_on_host(host, world);
    return json_pack("{s:i s:s s:s s:i s:o s:o s:o s:o s:o}", "rank",
                     world->rank, "host", host, "host_name", name, "pid",
                     (int)getpid(), "library", library, "mpi", mpi, "memlock",
                     mgds_probe_memlock(), "hca",
                     first ? mgds_probe_hca() : json_null(), "gpu",
                     first ? mgds_probe_gpu() : json_null());
}

static void print(const char *texts, const int *length, int size)
{
    printf(MGDS_PROBE_BEGIN "\n[");
    for (int i = 0; i < size; i++) {
        printf("%s%.*s", i > 0 ? "," : "", length[i], texts);
        texts += length[i];
    }
    printf("]\n" MGDS_PROBE_END "\n");
}

static void gather_and_print(const char *text, const struct world *world)
{
    int mine = (int)strlen(text);
    int *length = allocate((size_t)world->size, sizeof(*length));
    int *offset = allocate((size_t)world->size, sizeof(*offset));
    char *texts;
    int total = 0;

    MPI_Gather(&mine, 1, MPI_INT, length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < world->size; i++) {
        offset[i] = total;
        total += length[i];
    }
    texts = allocate((size_t)total + 1, 1);
    MPI_Gatherv(text, mine, MPI_CHAR, texts, length, offset, MPI_CHAR, 0,
                MPI_COMM_WORLD);
    if (world->rank == 0)
        print(texts, length, world->size);
    free(texts);
    free(offset);
    free(length);
}

/* The answer to a command line that has words: an exit status. */
static int answer(const char *word)
{
    if (strcmp(word, "--help") == 0)
        return fputs(usage, stdout) < 0;
    if (strcmp(word, "--version") == 0)
        return printf("mpix-gds-probe %s\n", MGDS_VERSION) < 0;
    fprintf(stderr, "mpix-gds-probe: %s: it takes no words: see --help\n",
            word);
    return 2;
}

int main(int argc, char **argv)
{
    struct world world;
    json_t *facts;
    char *text;

    if (argc > 1)
        return answer(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    facts = examine(&world);
    text = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    if (!text)
        stop("facts as text (is MPIX_SIM_HOST or a path not UTF-8?)", -EINVAL);
    gather_and_print(text, &world);
    free(text);
    json_decref(facts);
    MPI_Finalize();
    return fflush(stdout) != 0;
}
