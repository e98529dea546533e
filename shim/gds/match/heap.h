/*
 * Records by rank, the lowest first: a pairing heap whose links lie in the
 * records. A heap is a node as well, whose children are unordered trees: one is
 * put in without a comparison, and comparisons are made when the lowest is
 * taken. All functions count in *looks the records that they compare.
 */
#ifndef MGDS_MATCH_HEAP_H
#define MGDS_MATCH_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* All 0: an empty heap, or in none. prev: the sibling ahead, of the first child
 * the parent. */
struct mgds_heap_node {
    uint64_t rank;
    struct mgds_heap_node *child, *next, *prev;
};

/* rank: below UINT64_MAX. */
void mgds_heap_add(struct mgds_heap_node *heap, uint64_t rank,
                   struct mgds_heap_node *node);

/* From the heap that it is in; nothing for one that is in none. */
void mgds_heap_remove(struct mgds_heap_node *node, uint64_t *looks);

/* Takes out a record whose rank is below the limit, or NULL: there is none.
 * UINT64_MAX takes any, without a comparison. */
struct mgds_heap_node *mgds_heap_take(struct mgds_heap_node *heap,
                                      uint64_t limit, uint64_t *looks);

/* All that is in one is in the other, which was empty, instead. */
void mgds_heap_move(struct mgds_heap_node *to, struct mgds_heap_node *from);

static inline bool mgds_heap_is_in(const struct mgds_heap_node *node)
{
    return node->prev;
}

#endif
