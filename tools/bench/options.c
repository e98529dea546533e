/* The command line of mpix-gds-bench. */
#include "tools/bench/options.h"

#include <errno.h>
#include <stdio.h>

#include "tools/common/command_line.h"

enum {
    OPT_LIST = MGDS_LONG_OPTION,
    OPT_PLAIN,
    OPT_SIM,
    OPT_REQUIRE,
    OPT_VERSION,
    OPT_HELP
};

static const struct option long_options[] = {
    {"list", no_argument, NULL, OPT_LIST},
    {"plain", no_argument, NULL, OPT_PLAIN},
    {"sim", optional_argument, NULL, OPT_SIM},
    {"require", required_argument, NULL, OPT_REQUIRE},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

const char mgds_bench_usage[] =
    "usage: mpiexec -n N mpix-gds-bench [options] [--] NAME [OPTION...]\n"
    "Runs a benchmark with libmpix_gds.so under it. NAME may be without osu_;\n"
    "mpix-gds-bench NAME --help says what OPTIONs the benchmark has.\n"
    "  --list             name the benchmarks, and exit\n"
    "  --plain            leave the library out: what the MPI alone does\n"
    "  --sim[=...], --require=...  as of mpix-gds-run\n"
    "  --version, --help  print that, and exit\n"
    "Exit status: the benchmark's; 2 if it could not be prepared, 127 if it "
    "is\n"
    "not there.\n";

static struct mgds_complaint take(void *arg, int option)
{
    struct mgds_bench_options *options = arg;

    switch (option) {
    case OPT_SIM:
        return mgds_run_take_sim(&options->run, optarg);
    case OPT_REQUIRE:
        return mgds_run_take_require(&options->run, optarg);
    case OPT_LIST:
        options->list = true;
        break;
    case OPT_PLAIN:
        options->plain = true;
        break;
    case OPT_VERSION:
        options->run.action = MGDS_RUN_VERSION;
        break;
    default:
        options->run.action = MGDS_RUN_HELP;
    }
    return (struct mgds_complaint){0};
}

static int refuse_combination(const struct mgds_bench_options *options,
                              char *message, size_t size)
{
    if (options->list || options->run.action != MGDS_RUN_EXEC)
        return 0;
    if (!options->run.program[0])
        snprintf(message, size,
                 "no benchmark given: mpiexec -n 2 mpix-gds-bench latency "
                 "(--list names them all)");
    else if (options->plain &&
             (options->run.require || options->run.sim[MGDS_SIM_MPI].wanted))
        snprintf(message, size,
                 "--plain leaves out what --sim and --require are for: leave "
                 "out one or the other");
    else
        return 0;
    return -EINVAL;
}

int mgds_bench_options_parse(struct mgds_bench_options *options, int argc,
                             char **argv, char *message, size_t size)
{
    const struct mgds_command_line line = {"+:", long_options, take};
    int rc;

    *options = (struct mgds_bench_options){0};
    rc = mgds_command_line_parse(&line, options, argc, argv, message, size);
    if (rc < 0)
        return rc;
    options->run.program = argv + rc;
    return refuse_combination(options, message, size);
}
