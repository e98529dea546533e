/* mpix-gds-run: stands between mpiexec (or srun) and an MPI program, puts
 * libmpix_gds.so and what it needs under the program, and becomes it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/place.h"
#include "tools/run/environment.h"
#include "tools/run/options.h"

/* As shells have it, so that launchers and scripts understand. */
enum {
    MGDS_EXIT_USAGE = 2,
    MGDS_EXIT_NOT_EXECUTABLE = 126,
    MGDS_EXIT_NOT_FOUND = 127
};

enum { MGDS_MESSAGE_BYTES = PATH_MAX + 512 };

static int refuse(const char *message, int status)
{
    fprintf(stderr, "mpix-gds-run: %s\n", message);
    return status;
}

/* An existing file that is "not found" names an interpreter that is not. */
static int explain_exec(const char *program, int error)
{
    char message[MGDS_MESSAGE_BYTES];
    const char *remedy = "make it executable (chmod +x), or name another";
    int status = MGDS_EXIT_NOT_EXECUTABLE;

    if (error == ENOENT) {
        status = MGDS_EXIT_NOT_FOUND;
        remedy = strchr(program, '/') ? "check its path"
                                      : "it is not in PATH; a program in this "
                                        "folder needs ./ before its name";
        if (strchr(program, '/') && access(program, F_OK) == 0)
            remedy = "it is there, but the interpreter that it asks for is "
                     "not";
    }
    snprintf(message, sizeof(message), "%s: %s: %s", program, strerror(error),
             remedy);
    return refuse(message, status);
}

int main(int argc, char **argv)
{
    struct mgds_run_options options;
    struct mgds_place place;
    char message[MGDS_MESSAGE_BYTES];
    int rc;

    if (mgds_run_options_parse(&options, argc, argv, message, sizeof(message)) <
        0)
        return refuse(message, MGDS_EXIT_USAGE);
    if (options.action == MGDS_RUN_HELP)
        return fputs(mgds_run_usage, stdout) < 0;
    if (options.action == MGDS_RUN_VERSION)
        return printf("mpix-gds-run %s\n", MGDS_VERSION) < 0;
    rc = mgds_place_find(&place);
    if (rc < 0) {
        snprintf(message, sizeof(message),
                 "/proc/self/exe: %s: is /proc "
                 "mounted?",
                 strerror(-rc));
        return refuse(message, MGDS_EXIT_USAGE);
    }
    if (mgds_run_environment_set(&options, &place, message, sizeof(message)) <
        0)
        return refuse(message, MGDS_EXIT_USAGE);
    execvp(options.program[0], options.program);
    return explain_exec(options.program[0], errno);
}
