/* Digests of payload: of what a device has sent from memory, and of what it has
 * placed in memory, read again where it is. Between two devices, without
 * losses, what one has sent the other has placed: the sums are the same,
 * whatever the order was. Memory of GPUs that is written late is not among it.
 *
 * A byte counts with its place in its message. */
#ifndef MGDS_SIM_HCA_DIGEST_H
#define MGDS_SIM_HCA_DIGEST_H

#include <stdint.h>

struct mgds_hca_list;

struct mgds_hca_sum {
    uint64_t sum;
    uint64_t bytes;
};

struct mgds_hca_digest {
    struct mgds_hca_sum sent;
    struct mgds_hca_sum placed;
};

/* These bytes, of which the first is at `offset` of its message. */
void mgds_hca_digest_add(struct mgds_hca_sum *sum,
                         const struct mgds_hca_list *list, uint64_t offset);

#endif
