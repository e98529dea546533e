/* Runs the list: workers are processes, the parent never initialises CUDA. */
#ifndef MGDS_HW_RUN_H
#define MGDS_HW_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "case.h"
#include "clock.h"

struct mgds_options {
    const char *pattern; /* part of a name, or a shell pattern */
    const char *json;    /* file to write, NULL for none */
    unsigned long seed;  /* of the first run */
    int seeds;           /* runs; 0: one in table order, without a seed */
    int jobs;            /* workers at a time */
    int batch;           /* harmless cases a worker may run one by one */
    bool list;
    bool require; /* no driver or no device is a failure, not a skip */
};

enum mgds_outcome { NOT_RUN, PASSED, FAILED, SKIPPED };

struct mgds_result {
    const struct mgds_case *row;
    enum mgds_outcome outcome;
    double ms;       /* of the case itself */
    double setup_ms; /* before or inside it, see clock.h */
    char *failures;  /* lines */
    char *notes;     /* lines */
    char *reason;    /* of a skip */
};

/* What the machine is; asked of a process of its own. */
struct mgds_machine {
    unsigned needs;   /* needs it meets */
    char facts[2048]; /* lines "key: value" */
    char why[800];    /* why nothing can run; empty when it can */
};

void mgds_machine_probe(struct mgds_machine *machine);

/* Body of a worker process: takes row numbers from `from`, reports to `to`,
 * counts set-up in `clock`, ends with exit(). */
_Noreturn void mgds_worker_main(int from, int to, struct mgds_clock *clock);

/* Runs `count` rows; fills the results and prints a line for each. Returns
 * how many processes that took (those that cases fork not counted). */
int mgds_run(const struct mgds_options *options, struct mgds_result *results,
             int count);

/* One line for a finished case; in a run over many seeds (`quiet`) for a
 * failed one only. */
void mgds_result_print(const struct mgds_result *result, bool quiet);

/* Makes a result as if it had not run. */
void mgds_result_reset(struct mgds_result *result);

/* Writes everything as JSON; 0 or -1 with a line on stderr. */
int mgds_results_write(const char *file, const struct mgds_machine *machine,
                       const struct mgds_result *results, int count);

/* Appends a line to a list of lines. */
void mgds_timelines_add(char **lines, const char *line);

#define CASE_SECONDS 30

#endif
