/*
 * First-in-first-out queues of records, found by a key of 64 bits in a hash
 * table. The links lie in the records, so that nothing is allocated per record
 * and putting one in cannot fail: the first record of a queue stands for the
 * queue in its bucket.
 *
 *   bucket --> first of a queue --alike--> first of another --alike--> ..
 *                | next   prev: the last
 *                v
 *              second --next--> third
 *
 * The table grows with the number of queues; without memory for that its chains
 * become longer, and nothing else happens. Of one owner's lock.
 */
#ifndef MGDS_MATCH_FIFOS_H
#define MGDS_MATCH_FIFOS_H

#include <stdbool.h>
#include <stdint.h>

/* All 0: in no queue. */
struct mgds_fifo_node {
    uint64_t key;
    struct mgds_fifo_node *next, *prev;        /* prev of the first: the last */
    struct mgds_fifo_node *alike, **alike_ref; /* of the first; else NULL */
};

struct mgds_fifos {
    struct mgds_fifo_node **bucket;
    unsigned bits; /* of the number of buckets */
    uint64_t queues;
    uint64_t looks; /* records looked at so far: those that were asked for as
                       the first, and others in the way to any */
};

/* -ENOMEM. */
int mgds_fifos_init(struct mgds_fifos *fifos);

/* Records that are in stay the owner's. */
void mgds_fifos_fini(struct mgds_fifos *fifos);

/* The first record of the key's queue, or NULL. */
struct mgds_fifo_node *mgds_fifos_first(struct mgds_fifos *fifos, uint64_t key);

/* The last one: only to be put behind. */
struct mgds_fifo_node *mgds_fifos_last(struct mgds_fifos *fifos, uint64_t key);

/* Behind all others of its key. */
void mgds_fifos_append(struct mgds_fifos *fifos, uint64_t key,
                       struct mgds_fifo_node *node);

/* From wherever it stands in its queue; nothing for one that is in none. */
void mgds_fifos_remove(struct mgds_fifos *fifos, struct mgds_fifo_node *node);

/* The first record of some queue whose bucket is *at or a later one, or NULL;
 * *at, 0 at first, becomes its bucket. For visits to all. */
struct mgds_fifo_node *mgds_fifos_some(const struct mgds_fifos *fifos,
                                       uint64_t *at);

static inline bool mgds_fifo_is_in(const struct mgds_fifo_node *node)
{
    return node->prev;
}

static inline bool mgds_fifo_is_first(const struct mgds_fifo_node *node)
{
    return node->alike_ref;
}

#endif
