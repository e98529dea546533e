/* mpix-gds-probe: an MPI program that finds out, inside its ranks, what the
 * doctor needs to know, and lets rank 0 print it:
 *   mpiexec -n 2 mpix-gds-run mpix-gds-probe | mpix-gds-doctor --read -
 * --no-gpu: touches no CUDA. */
#include <errno.h>
#include <limits.h>
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
    "library, MPI, limits, cores; GPUs and adapters of each host; and which\n"
    "transport messages in GPU memory take. mpix-gds-doctor starts it, and\n"
    "judges what it prints.\n"
    "  --no-gpu           host memory only: touch no GPU\n"
    "  --version, --help  print that, and exit\n"
    "Exit status: 0 printed, 1 not, 2 bad usage.\n";

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

/* How many lower ranks the host has. */
static int count_before(const char *host, const struct mgds_probe_world *world)
{
    char *all = allocate((size_t)world->size, MGDS_HOST_BYTES);
    int before = 0;

    MPI_Allgather(host, MGDS_HOST_BYTES, MPI_CHAR, all, MGDS_HOST_BYTES,
                  MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < world->rank; i++)
        before += strcmp(all + (size_t)i * MGDS_HOST_BYTES, host) == 0;
    free(all);
    return before;
}

static json_t *no_devices(void)
{
    return json_pack("{s:b s:s s:s s:i s:[] s:[]}", "found", 0, "path", "",
                     "error", "", "version", 0, "devices", "peers");
}

/* One rank of a host is enough to ask its devices. */
static json_t *examine(struct mgds_probe_world *world, bool gpu)
{
    char host[MGDS_HOST_BYTES] = {0};
    char name[MGDS_HOST_BYTES] = {0};
    json_t *library = mgds_probe_library(); /* before any device is touched */
    json_t *mpi = mgds_probe_mpi();
    json_t *devices = json_null();
    int rc = mgds_host_name(host, sizeof(host));

    if (rc < 0)
        stop("identity of this host", rc);
    gethostname(name, sizeof(name) - 1);
    world->local = count_before(host, world);
    if (world->local == 0)
        devices = gpu ? mgds_probe_gpu() : no_devices();
    return json_pack("{s:i s:s s:s s:i s:o s:o s:o s:o s:o s:o s:o}", "rank",
                     world->rank, "host", host, "host_name", name, "pid",
                     (int)getpid(), "library", library, "mpi", mpi, "memlock",
                     mgds_probe_memlock(), "cores", mgds_probe_cores(), "hca",
                     world->local == 0 ? mgds_probe_hca() : json_null(), "gpu",
                     devices, "messages",
                     gpu ? mgds_probe_messages(world) : json_null());
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

static void gather_and_print(const char *text,
                             const struct mgds_probe_world *world)
{
    int mine = (int)strlen(text);
    int *length = allocate((size_t)world->size, sizeof(*length));
    int *offset = allocate((size_t)world->size, sizeof(*offset));
    char *texts;
    long total = 0;

    MPI_Gather(&mine, 1, MPI_INT, length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < world->size; i++) {
        offset[i] = (int)total;
        total += length[i];
    }
    if (total > INT_MAX) {
        fprintf(stderr,
                "mpix-gds-probe: the report of %d ranks is too long: "
                "start fewer\n",
                world->size);
        MPI_Abort(MPI_COMM_WORLD, 1);
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
    fprintf(stderr, "mpix-gds-probe: %s: no word that it takes: see --help\n",
            word);
    return 2;
}

int main(int argc, char **argv)
{
    struct mgds_probe_world world;
    json_t *facts;
    bool gpu = argc < 2 || strcmp(argv[1], "--no-gpu") != 0;
    char *text;

    if (argc > 2 || (argc == 2 && gpu))
        return answer(argv[argc - 1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    facts = examine(&world, gpu);
    text = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    if (!text)
        stop("facts as text (is MPIX_SIM_HOST or a path not UTF-8?)", -EINVAL);
    gather_and_print(text, &world);
    free(text);
    json_decref(facts);
    MPI_Finalize();
    return fflush(stdout) != 0;
}
