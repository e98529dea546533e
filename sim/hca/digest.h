/* Digests of payload: of what a device has sent from memory, and of what it has
 * placed in memory, read again where it is. Between two devices, without
 * losses, what one has sent the other has placed: the sums are the same,
 * whatever the order was. Memory of GPUs that is written late is not among it.
 *
 * A byte counts with its place in its message.
 *
 * Unreliable services lose messages, and totals say nothing of those that have
 * arrived. So each of their messages brings its digest along as a word, and who
 * has placed it compares. */
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
    uint64_t arrived; /* messages of unreliable services that were compared */
    uint64_t differ;  /* of those */
};

/* These bytes, of which the first is at `offset` of its message. */
void mgds_hca_digest_add(struct mgds_hca_sum *sum,
                         const struct mgds_hca_list *list, uint64_t offset);

/* The sum of a message, as a word that is not 0. */
uint32_t mgds_hca_digest_word(const struct mgds_hca_sum *sum);

/* A message from memory, whole: its word. */
uint32_t mgds_hca_digest_send(struct mgds_hca_digest *digest,
                              const struct mgds_hca_list *list);

/* A part of a message is in memory, the one at offset 0 first; `sum` has what
 * was placed of the message. */
void mgds_hca_digest_place(struct mgds_hca_digest *digest,
                           struct mgds_hca_sum *sum,
                           const struct mgds_hca_list *list, uint64_t offset);

/* A message of so many bytes is in memory, whose sender made this word of it.
 * Nothing is compared if not all of it was placed in order. */
void mgds_hca_digest_compare(struct mgds_hca_digest *digest,
                             const struct mgds_hca_sum *sum, uint64_t bytes,
                             uint32_t word);

#endif
