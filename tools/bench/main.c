/* mpix-gds-bench: finds a benchmark of this build or installation by its name,
 * prepares what mpix-gds-run would, and becomes the benchmark. Each rank
 * starts it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/names.h"
#include "tools/bench/options.h"
#include "tools/common/place.h"
#include "tools/run/environment.h"

enum { MGDS_EXIT_USAGE = 2, MGDS_EXIT_NOT_FOUND = 127 };

enum { MGDS_MESSAGE_BYTES = PATH_MAX + 512 };

static int refuse(const char *message, int status)
{
    fprintf(stderr, "mpix-gds-bench: %s\n", message);
    return status;
}

static int refuse_name(const char *name)
{
    char names[512];

    mgds_bench_list(names, sizeof(names));
    fprintf(stderr, "mpix-gds-bench: no benchmark is called %s: there are %s\n",
            name, names);
    return MGDS_EXIT_USAGE;
}

static int show_names(void)
{
    for (const struct mgds_bench_name *row = mgds_bench_names; row->file; row++)
        if (printf("%-20s %s (%s ranks)\n", row->file, row->what, row->ranks) <
            0)
            return 1;
    return 0;
}

static int refuse_plain(const char *name)
{
    fprintf(stderr,
            "mpix-gds-bench: --plain %s: it enqueues, which the library alone "
            "can do: leave out --plain\n",
            name);
    return MGDS_EXIT_USAGE;
}

/* Returns only if the benchmark could not be started: the exit status. */
static int start(struct mgds_bench_options *options,
                 const struct mgds_bench_name *bench)
{
    char message[MGDS_MESSAGE_BYTES];
    char path[PATH_MAX];
    struct mgds_place place;
    int rc = mgds_place_find(&place);

    if (rc == 0)
        rc = mgds_place_join(path, place.bench, bench->file);
    if (rc < 0) {
        snprintf(message, sizeof(message), "%s: its place is not known: %s",
                 bench->file, strerror(-rc));
        return refuse(message, MGDS_EXIT_USAGE);
    }
    if (!options->plain &&
        mgds_run_environment_set(&options->run, &place, message,
                                 sizeof(message)) < 0)
        return refuse(message, MGDS_EXIT_USAGE);
    options->run.program[0] = path;
    execv(path, options->run.program);
    snprintf(message, sizeof(message),
             "%s: %s: build it (cmake --build), or run the mpix-gds-bench that "
             "was installed with it",
             path, strerror(errno));
    return refuse(message, MGDS_EXIT_NOT_FOUND);
}

int main(int argc, char **argv)
{
    const struct mgds_bench_name *bench;
    struct mgds_bench_options options;
    char message[MGDS_MESSAGE_BYTES];

    if (mgds_bench_options_parse(&options, argc, argv, message,
                                 sizeof(message)) < 0)
        return refuse(message, MGDS_EXIT_USAGE);
    if (options.run.action == MGDS_RUN_HELP)
        return fputs(mgds_bench_usage, stdout) < 0;
    if (options.run.action == MGDS_RUN_VERSION)
        return printf("mpix-gds-bench %s\n", MGDS_VERSION) < 0;
    if (options.list)
        return show_names();
    bench = mgds_bench_find(options.run.program[0]);
    if (!bench)
        return refuse_name(options.run.program[0]);
    if (options.plain && bench->links)
        return refuse_plain(bench->file);
    return start(&options, bench);
}
