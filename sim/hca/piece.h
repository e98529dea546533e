/* Scattered memory: a list of pieces, and copies between two lists. */
#ifndef MGDS_SIM_HCA_PIECE_H
#define MGDS_SIM_HCA_PIECE_H

#include <stdint.h>

struct mgds_hca_piece {
    uint8_t *at;
    uint64_t bytes;
};

/* A list that a WQE can have: a unit each, and an inline segment that goes on
 * at the start of the ring. */
enum { MGDS_HCA_PIECES = 64 };

struct mgds_hca_list {
    unsigned count;
    uint64_t bytes; /* of all of them */
    struct mgds_hca_piece piece[MGDS_HCA_PIECES];
};

/* Empty, or with one piece. */
void mgds_hca_list_init(struct mgds_hca_list *list);
void mgds_hca_list_one(struct mgds_hca_list *list, void *at, uint64_t bytes);

/* Appends a piece; there is room for it. */
void mgds_hca_list_add(struct mgds_hca_list *list, void *at, uint64_t bytes);

/* These bytes of a list; fewer where it ends. */
void mgds_hca_list_part(struct mgds_hca_list *part,
                        const struct mgds_hca_list *list, uint64_t offset,
                        uint64_t bytes);

/* Copies as many bytes as both have, in order of addresses and in aligned words
 * of up to 8 bytes, each stored whole and with release order: who polls one
 * finds all that was copied before, if the two do not overlap. */
void mgds_hca_list_copy(const struct mgds_hca_list *to,
                        const struct mgds_hca_list *from);

#endif
