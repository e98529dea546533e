/* Which way data takes between two ranks, and why not a better one. */
#ifndef MGDS_DOCTOR_PAIRS_H
#define MGDS_DOCTOR_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/config.h"
#include "tools/doctor/facts.h"

enum { MGDS_PATH_COUNT = MGDS_PATH_UCX + 1 };

/* a and b may be one rank. Paths that do not concern the pair at all ("self"
 * for two ranks) have a null reason. Texts are constant. */
struct mgds_pair {
    const struct mgds_rank_facts *a;
    const struct mgds_rank_facts *b;
    bool same_host;
    const char *host_buffers;             /* the way of host memory */
    const char *gpu_buffers;              /* the way of GPU memory */
    const char *why_not[MGDS_PATH_COUNT]; /* in the order of enum mgds_path */
};

void mgds_pair_judge(struct mgds_pair *pair, const struct mgds_facts *facts,
                     size_t a, size_t b);

#endif
