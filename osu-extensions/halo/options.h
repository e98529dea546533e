/* What the user asked of osu_halo_enqueue. Knows no MPI. */
#ifndef MGDS_HALO_OPTIONS_H
#define MGDS_HALO_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define MGDS_HALO_ROUNDS_MAX 25

enum mgds_halo_action {
    MGDS_HALO_RUN,
    MGDS_HALO_HELP,
    MGDS_HALO_VERSION,
};

struct mgds_halo_options {
    enum mgds_halo_action action;
    size_t min_size; /* bytes of a face */
    size_t max_size;
    size_t steps; /* timed, back to back */
    size_t warmup;
    size_t kernel_us;
    int dims;
    int rounds;
    int gpu; /* -1: by rank */
    bool periodic;
    const char *variants; /* names with commas; NULL: all */
    const char *nccl;     /* NULL: where it usually is */
    const char *json;     /* NULL: none */
};

/* Returns 0, or -EINVAL with one line in why. Not thread-safe (getopt). */
int mgds_halo_options_init(struct mgds_halo_options *options, int argc,
                           char **argv, char why[256]);
void mgds_halo_options_help(FILE *out);

#endif
