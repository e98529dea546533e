/* The report of an examination, for people and for programs. */
#ifndef MGDS_DOCTOR_REPORT_H
#define MGDS_DOCTOR_REPORT_H

#include <stdio.h>

#include "tools/doctor/exam.h"

/* Exit status of the doctor. */
enum { MGDS_EXIT_OK, MGDS_EXIT_FALLBACK, MGDS_EXIT_BROKEN };

struct mgds_report {
    const struct mgds_exam *exam;
    const struct mgds_finding *finding; /* one for each of mgds_checks */
    int argc;
    char **argv;
};

/* The worst of the findings. Unknown is never worse than its reason. */
int mgds_report_status(const struct mgds_report *report);

/* What the status means, in words. */
const char *mgds_report_meaning(int status);

/* Both return 0 or a negative errno. */
int mgds_report_text(const struct mgds_report *report, FILE *out);
int mgds_report_json(const struct mgds_report *report, FILE *out);

#endif
