/* Fields before the first step, and what must be in them after the last. */
#ifndef MGDS_HALO_CHECK_H
#define MGDS_HALO_CHECK_H

#include "osu-extensions/halo/halo.h"
#include "osu-extensions/halo/reference.h"

struct mgds_halo_truth {
    struct mgds_halo_reference exchanged;
    struct mgds_halo_reference alone;
};

/* Both references after so many steps. Collective. 0 or -ENOMEM. */
int mgds_halo_truth_init(struct mgds_halo_truth *truth,
                         const struct mgds_halo *h, uint64_t row, size_t steps);
void mgds_halo_truth_fini(struct mgds_halo_truth *truth);

/* The field as before the first step; its ghosts where packed faces are
 * received, as if nothing had come. 0 or negative errno. */
int mgds_halo_reset(struct mgds_halo *h, uint64_t row);

/*
 * Compares every bit of the field with the reference; of a variant without
 * order, what arrived last with what the neighbours sent last. True on all
 * ranks if one of them found a difference, which has a line on stderr.
 * Collective, when all streams are done.
 */
bool mgds_halo_wrong(struct mgds_halo *h,
                     const struct mgds_halo_variant *variant,
                     const struct mgds_halo_truth *truth);

#endif
