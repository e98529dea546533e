/* Asks the system, MPI and, if it is there, mpix-gds who they are. */
#include "osu-extensions/machine.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "mpix_gds.h"

static void cpu_find(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(out, size, "unknown");
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " "));
        out[strcspn(out, "\n")] = '\0';
        break;
    }
    fclose(file);
}

static void kernel_find(char *out, size_t size)
{
    struct utsname name;

    if (uname(&name) == 0)
        snprintf(out, size, "%.100s %.100s", name.sysname, name.release);
    else
        snprintf(out, size, "unknown");
}

/* The first line of the library's own words, blanks made single. */
static void mpi_find(char *out)
{
    char *to = out;
    int length;

    MPI_Get_library_version(out, &length);
    for (const char *from = out; *from && *from != '\n'; from++) {
        bool blank = *from == ' ' || *from == '\t';

        if (!blank)
            *to++ = *from;
        else if (to > out && to[-1] != ' ')
            *to++ = ' ';
    }
    *to = '\0';
}

/* By name, not linked: mpix-gds is there only if it was preloaded. */
static void gds_find(char *out, size_t size)
{
    int (*query)(int what, int64_t *value);
    void *found = dlsym(RTLD_DEFAULT, "MPIX_Gds_query");
    int64_t version;
    int64_t active;

    out[0] = '\0';
    if (!found)
        return;
    memcpy(&query, &found, sizeof(query));
    if (query(MPIX_GDS_VERSION, &version) != MPI_SUCCESS ||
        query(MPIX_GDS_ACTIVE, &active) != MPI_SUCCESS || !active)
        return;
    snprintf(out, size, "%d.%d.%d", (int)(version / 10000),
             (int)(version / 100 % 100), (int)(version % 100));
}

static int nodes_count(MPI_Comm comm)
{
    MPI_Comm node;
    int rank;
    int nodes;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    nodes = rank == 0;
    MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, comm);
    return nodes;
}

void mgds_bench_machine_init(struct mgds_bench_machine *machine, MPI_Comm comm)
{
    memset(machine, 0, sizeof(*machine));
    if (gethostname(machine->host, sizeof(machine->host) - 1) < 0)
        snprintf(machine->host, sizeof(machine->host), "unknown");
    cpu_find(machine->cpu, sizeof(machine->cpu));
    kernel_find(machine->kernel, sizeof(machine->kernel));
    mpi_find(machine->mpi);
    mgds_bench_gpu_facts(&machine->gpu);
    gds_find(machine->gds, sizeof(machine->gds));
    machine->cores = sysconf(_SC_NPROCESSORS_ONLN);
    MPI_Comm_size(comm, &machine->ranks);
    machine->nodes = nodes_count(comm);
}
