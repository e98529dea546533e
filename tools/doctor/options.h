/* What a user asks of mpix-gds-doctor. */
#ifndef MGDS_DOCTOR_OPTIONS_H
#define MGDS_DOCTOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum mgds_doctor_action {
    MGDS_DOCTOR_EXAMINE,
    MGDS_DOCTOR_ENV,
    MGDS_DOCTOR_VERIFY_HCA,
    MGDS_DOCTOR_HELP,
    MGDS_DOCTOR_VERSION
};

struct mgds_doctor_options {
    enum mgds_doctor_action action;
    bool json;
    int ranks;            /* to start, or to expect; 0: not given */
    int timeout;          /* seconds */
    const char *launcher; /* null: mpiexec */
    const char *sim;      /* a word for mpix-gds-run, or null */
    bool no_gpu;          /* host memory only */
    const char *read; /* a saved report of the probe, "-" is stdin, or NULL */
};

/* Reads argv. On bad input writes one line into message and returns -EINVAL. */
int mgds_doctor_options_parse(struct mgds_doctor_options *options, int argc,
                              char **argv, char *message, size_t size);

extern const char mgds_doctor_usage[];

#endif
