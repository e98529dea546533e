/* One examination: what was asked, what was found, what was judged. */
#ifndef MGDS_DOCTOR_EXAM_H
#define MGDS_DOCTOR_EXAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/common/place.h"
#include "tools/doctor/facts.h"
#include "tools/doctor/options.h"
#include "tools/doctor/pairs.h"

enum mgds_state {
    MGDS_OK,
    MGDS_FALLBACK, /* works, in a lesser way that the text names */
    MGDS_BROKEN,
    MGDS_UNKNOWN /* could not be examined, for a reason told elsewhere */
};

/* What a check says: a text of one line, for anything but ok a remedy or
 * nothing, and lines of others' (a failed command's) to show below. */
struct mgds_finding {
    enum mgds_state state;
    char text[1024];
    char remedy[512];
    char *detail; /* or null; the finding's own */
    char *rows;   /* or null, likewise: lines of ours, below the text */
};

/* How the ranks were started, or were not. */
struct mgds_launch {
    struct mgds_finding finding;
    char command[4096]; /* for people to read */
    int interrupted;    /* the signal that ended it, or 0 */
};

struct mgds_exam {
    const struct mgds_doctor_options *options;
    const struct mgds_place *place;
    char missing[PATH_MAX]; /* a file of the installation, or "" */
    struct mgds_finding settings;
    struct mgds_launch launch;
    struct mgds_facts facts; /* empty unless the launch is ok */
    struct mgds_pairs pairs; /* of the facts */
};

/* A row of the table of checks, in the order of the report. */
struct mgds_check {
    const char *id;
    const char *title;
    void (*examine)(struct mgds_finding *finding, const struct mgds_exam *exam);
};

extern const struct mgds_check mgds_checks[];
extern const size_t mgds_check_count;

extern const char *const mgds_state_name[];

/* Sets state and text; what is too long is cut. */
void mgds_finding_set(struct mgds_finding *finding, enum mgds_state state,
                      const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends to the text. */
void mgds_finding_add(struct mgds_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void mgds_finding_remedy(struct mgds_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Frees what it points to. */
void mgds_finding_fini(struct mgds_finding *finding);

/* Fills exam->missing. -ENAMETOOLONG. */
int mgds_installation_look(struct mgds_exam *exam);

/* Fills exam->settings, and takes the caller's MPIX_GDS_* out of the
 * environment, but for those of the network (MPIX_GDS_UCX_*): they are not to
 * change what is found. One thread. -ENOMEM. */
int mgds_settings_put_aside(struct mgds_exam *exam);

/* The checks, by subject. */
void mgds_check_installation(struct mgds_finding *finding,
                             const struct mgds_exam *exam);
void mgds_check_library(struct mgds_finding *finding,
                        const struct mgds_exam *exam);
void mgds_check_mpi(struct mgds_finding *finding, const struct mgds_exam *exam);
void mgds_check_cores(struct mgds_finding *finding,
                      const struct mgds_exam *exam);
void mgds_check_memlock(struct mgds_finding *finding,
                        const struct mgds_exam *exam);
void mgds_check_driver(struct mgds_finding *finding,
                       const struct mgds_exam *exam);
void mgds_check_gpus(struct mgds_finding *finding,
                     const struct mgds_exam *exam);
void mgds_check_peers(struct mgds_finding *finding,
                      const struct mgds_exam *exam);
void mgds_check_memops(struct mgds_finding *finding,
                       const struct mgds_exam *exam);
void mgds_check_hca(struct mgds_finding *finding, const struct mgds_exam *exam);
void mgds_check_pairs(struct mgds_finding *finding,
                      const struct mgds_exam *exam);

#endif
