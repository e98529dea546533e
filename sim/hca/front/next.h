/* The definitions behind ours: of calls that libmpix_sim_hca.so interposes. */
#ifndef MGDS_HCA_NEXT_H
#define MGDS_HCA_NEXT_H

enum mgds_hca_next {
#define X(name) MGDS_HCA_NEXT_##name,
#include "sim/hca/front/next.def"
#undef X
    MGDS_HCA_NEXTS
};

/* Found at its first use; any thread. NULL: the C library has it no more. */
void *mgds_hca_next(enum mgds_hca_next call);

/* The next definition, to be called: MGDS_HCA_NEXT(open)(path, flags). */
#define MGDS_HCA_NEXT(name)                                                    \
    ((__typeof__(&(name)))mgds_hca_next(MGDS_HCA_NEXT_##name))

#endif
