/* A row of the output: all variants for one size of face. */
#ifndef MGDS_HALO_MEASURE_H
#define MGDS_HALO_MEASURE_H

#include "osu-extensions/halo/halo.h"

/* A variant in this run, or why it is not. */
struct mgds_halo_track {
    const struct mgds_halo_variant *variant;
    bool chosen;
    bool here; /* false: why says why not */
    char why[256];
    char version[32];
};

/* Medians of the rounds; the largest of all ranks. */
struct mgds_halo_outcome {
    bool measured;
    bool validated;
    double step_us;
    double cpu_us;                       /* of the calling thread, a step */
    double rounds[MGDS_HALO_ROUNDS_MAX]; /* of step_us */
};

struct mgds_halo_row {
    size_t size;
    double kernel_us; /* the step's kernel by itself, by events */
    struct mgds_halo_outcome outcomes[MGDS_HALO_VARIANTS];
};

struct mgds_halo_run {
    struct mgds_halo *halo;
    const struct mgds_halo_options *options;
    struct mgds_halo_track tracks[MGDS_HALO_VARIANTS];
    uint64_t rows; /* measured so far */
};

/* Chooses the variants. Returns 0, or -EINVAL with a line: a name is none.
 * Collective. */
int mgds_halo_run_init(struct mgds_halo_run *run, struct mgds_halo *h,
                       const struct mgds_halo_options *options, char why[256]);

/* Collective; the size has been set. Wrong values are lines on stderr. */
void mgds_halo_measure(struct mgds_halo_run *run, struct mgds_halo_row *row);

/* Caller's CPU of a step without the program's own launches: those of the
 * program alone, measured the same way. A graph has none of its own. */
double mgds_halo_call_us(const struct mgds_halo_row *row, int variant);

/* The number of a variant in the table. */
int mgds_halo_number(const struct mgds_halo_variant *variant);

#endif
