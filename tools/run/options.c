/* The command line of mpix-gds-run. */
#include "tools/run/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/config.h"
#include "tools/common/command_line.h"
#include "tools/common/number.h"

enum { OPT_SIM = MGDS_LONG_OPTION, OPT_REQUIRE, OPT_VERSION, OPT_HELP };

static const struct option long_options[] = {
    {"sim", optional_argument, NULL, OPT_SIM},
    {"require", required_argument, NULL, OPT_REQUIRE},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static const struct {
    const char *name;
    long devices; /* at most; 0: it has none */
} simulators[MGDS_SIM_COUNT] = {
    [MGDS_SIM_MPI] = {"mpi", 0},
    [MGDS_SIM_GPU] = {"gpu", 64},
    [MGDS_SIM_HCA] = {"hca", 16},
};

const char mgds_run_usage[] =
    "usage: mpiexec -n N mpix-gds-run [options] [--] PROGRAM [ARGUMENT...]\n"
    "Runs an MPI program with libmpix_gds.so under it.\n"
    "  --sim[=gpu[:N]][,hca[:N]]  simulate hardware: N GPUs, N HCAs; alone it\n"
    "                     means gpu; --sim=mpi simulates none, and only makes\n"
    "                     MPICH give its core away while it waits (any --sim\n"
    "                     does)\n"
    "  --require=T[,T]    make it an error when an enqueued message in GPU\n"
    "                     memory would take another transport: self, p2p,\n"
    "                     ib-gpu, ib-cpu or host\n"
    "  --version, --help  print that, and exit\n"
    "Exit status: the program's; 2 if it could not be prepared, 126 if it\n"
    "cannot be executed, 127 if it is not found.\n";

static int find_simulator(const char *name)
{
    for (int i = 0; i < MGDS_SIM_COUNT; i++)
        if (strcmp(name, simulators[i].name) == 0)
            return i;
    return -EINVAL;
}

static int parse_sim_item(struct mgds_run_options *options, char *item)
{
    char *colon = strchr(item, ':');
    struct mgds_run_sim_choice choice = {.wanted = true};
    long count;
    int sim;

    if (colon)
        *colon = '\0';
    sim = find_simulator(item);
    if (sim < 0)
        return sim;
    if (colon) {
        if (mgds_number_parse(&count, colon + 1, 1, simulators[sim].devices) <
            0)
            return -EINVAL;
        choice.count = (unsigned)count;
    }
    options->sim[sim] = choice;
    return 0;
}

static int parse_sim(struct mgds_run_options *options, const char *value)
{
    char *copy = strdup(value ? value : "gpu");
    char *rest = copy;
    char *item;
    int rc = copy ? 0 : -ENOMEM;

    options->sim[MGDS_SIM_MPI].wanted = true;
    while (rc == 0 && (item = strsep(&rest, ",")) != NULL)
        rc = parse_sim_item(options, item);
    free(copy);
    return rc;
}

static bool is_path(const char *name)
{
    for (size_t i = 0; mgds_path_names[i]; i++)
        if (strcmp(name, mgds_path_names[i]) == 0)
            return true;
    return false;
}

/* The library would only warn; whoever asks for a path here means it. */
static bool are_paths(const char *value)
{
    char *copy = strdup(value);
    char *rest = copy;
    char *name;
    bool good = copy != NULL;

    while (good && (name = strsep(&rest, ",")) != NULL)
        good = is_path(name);
    free(copy);
    return good;
}

struct mgds_complaint mgds_run_take_sim(struct mgds_run_options *options,
                                        const char *value)
{
    if (parse_sim(options, value) == 0)
        return (struct mgds_complaint){0};
    return (struct mgds_complaint){
        "--sim=", "is not understood: use gpu, gpu:N (N from 1 to 64), hca, "
                  "hca:N (N from 1 to 16) or mpi, with commas between"};
}

struct mgds_complaint mgds_run_take_require(struct mgds_run_options *options,
                                            const char *value)
{
    options->require = value;
    if (are_paths(value))
        return (struct mgds_complaint){0};
    return (struct mgds_complaint){
        "--require=", "names no transport: use self, p2p, ib-gpu, ib-cpu "
                      "or host, with commas between"};
}

static struct mgds_complaint take(void *arg, int option)
{
    struct mgds_run_options *options = arg;
    struct mgds_complaint none = {0};

    switch (option) {
    case OPT_SIM:
        return mgds_run_take_sim(options, optarg);
    case OPT_REQUIRE:
        return mgds_run_take_require(options, optarg);
    case OPT_VERSION:
        options->action = MGDS_RUN_VERSION;
        return none;
    default:
        options->action = MGDS_RUN_HELP;
        return none;
    }
}

/* "+": options end at the program's name; ":": we report, not getopt. */
int mgds_run_options_parse(struct mgds_run_options *options, int argc,
                           char **argv, char *message, size_t size)
{
    const struct mgds_command_line line = {"+:", long_options, take};
    int rc;

    *options = (struct mgds_run_options){0};
    rc = mgds_command_line_parse(&line, options, argc, argv, message, size);
    if (rc < 0)
        return rc;
    options->program = argv + rc;
    if (options->action != MGDS_RUN_EXEC || options->program[0])
        return 0;
    snprintf(message, size,
             "no program given: mpiexec -n 2 mpix-gds-run ./program");
    return -EINVAL;
}
