/* What a user asks of mpix-gds-run. */
#ifndef MGDS_RUN_OPTIONS_H
#define MGDS_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/common/command_line.h"

enum mgds_run_action { MGDS_RUN_EXEC, MGDS_RUN_HELP, MGDS_RUN_VERSION };

/* Simulators; the one of MPI comes with any of the others. */
enum mgds_run_sim { MGDS_SIM_MPI, MGDS_SIM_GPU, MGDS_SIM_HCA, MGDS_SIM_COUNT };

struct mgds_run_sim_choice {
    bool wanted;
    unsigned count; /* devices; 0: as many as the simulator has by itself */
};

struct mgds_run_options {
    enum mgds_run_action action;
    struct mgds_run_sim_choice sim[MGDS_SIM_COUNT];
    const char *require; /* null: not given */
    char **program;      /* argv of the program, null-terminated */
};

/* Reads argv into options. On bad input writes one line, which names it and
 * the remedy, into message (size bytes) and returns -EINVAL; else 0. */
int mgds_run_options_parse(struct mgds_run_options *options, int argc,
                           char **argv, char *message, size_t size);

/* The values of --sim (may be null) and --require, for tools that have those
 * options too. */
struct mgds_complaint mgds_run_take_sim(struct mgds_run_options *options,
                                        const char *value);
struct mgds_complaint mgds_run_take_require(struct mgds_run_options *options,
                                            const char *value);

extern const char mgds_run_usage[];

#endif
