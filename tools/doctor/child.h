/* Runs an external command that may fail, hang, or say too much. */
#ifndef MGDS_DOCTOR_CHILD_H
#define MGDS_DOCTOR_CHILD_H

#include <stdbool.h>
#include <stddef.h>

struct mgds_child_output {
    char *text; /* terminated; never null after mgds_child_run */
    size_t size, most;
    bool cut; /* there was more than we keep */
};

struct mgds_child {
    int status;      /* as waitpid gives it */
    bool timed_out;  /* it was stopped because its time was over */
    int interrupted; /* the signal that made us stop it, or 0 */
    struct mgds_child_output out;
    struct mgds_child_output err;
};

/* Runs argv (argv[0] is searched in PATH) with no input, in a process group
 * of its own, for at most seconds; then the group is told to end, and a
 * little later made to. Keeps most bytes of either output. Blocks SIGINT,
 * SIGTERM, SIGHUP and SIGQUIT meanwhile: they stop the command. Returns 0 when
 * it was started, however it ended, else a negative errno. The caller ends with
 * mgds_child_fini in either case. */
int mgds_child_run(struct mgds_child *child, char *const *argv, int seconds,
                   size_t most);

void mgds_child_fini(struct mgds_child *child);

#endif
