/* Queues of records by key; see fifos.h. */
#include "shim/gds/match/fifos.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"

enum { FIRST_BITS = 6, MOST_BITS = 30 };

int mgds_fifos_init(struct mgds_fifos *fifos)
{
    *fifos = (struct mgds_fifos){.bits = FIRST_BITS};
    fifos->bucket = (struct mgds_fifo_node **)mgds_calloc(
        (size_t)1 << FIRST_BITS, sizeof(struct mgds_fifo_node *));
    return fifos->bucket ? 0 : -ENOMEM;
}

void mgds_fifos_fini(struct mgds_fifos *fifos)
{
    free(fifos->bucket);
    fifos->bucket = NULL;
}

/* Numbers in the low half that follow each other, as tags of one source and its
 * messages do, lie apart by the golden section and hardly meet; where those of
 * another high half begin is as good as random. */
static struct mgds_fifo_node **bucket_of(const struct mgds_fifos *fifos,
                                         uint64_t key)
{
    uint64_t begin = (key >> 32) * UINT64_C(0xd6e8feb86659fd93);

    begin ^= begin >> 32;
    begin *= UINT64_C(0xd6e8feb86659fd93);
    key = begin + (uint32_t)key * UINT64_C(0x9e3779b97f4a7c15);
    return &fifos->bucket[key >> (64 - fifos->bits)];
}

/* The node stands for its queue from now on. */
static void link_first(struct mgds_fifo_node **at, struct mgds_fifo_node *node)
{
    node->alike = *at;
    node->alike_ref = at;
    if (*at)
        (*at)->alike_ref = &node->alike;
    *at = node;
}

static void unlink_first(struct mgds_fifo_node *node)
{
    *node->alike_ref = node->alike;
    if (node->alike)
        node->alike->alike_ref = node->alike_ref;
    node->alike = NULL;
    node->alike_ref = NULL;
}

static void move_all(struct mgds_fifos *fifos,
                     struct mgds_fifo_node *const *bucket, unsigned bits)
{
    for (uint64_t i = 0; i < UINT64_C(1) << bits; i++) {
        struct mgds_fifo_node *node = bucket[i];

        while (node) {
            struct mgds_fifo_node *alike = node->alike;

            link_first(bucket_of(fifos, node->key), node);
            node = alike;
        }
    }
}

/* At most an eighth as many queues as buckets: chains are hardly ever longer
 * than one. */
static void grow_table(struct mgds_fifos *fifos)
{
    struct mgds_fifo_node **old = fifos->bucket, **bucket;
    unsigned bits = fifos->bits;

    if (fifos->queues < UINT64_C(1) << (bits - 3) || bits == MOST_BITS)
        return;
    bucket = (struct mgds_fifo_node **)mgds_calloc(
        (size_t)1 << (bits + 1), sizeof(struct mgds_fifo_node *));
    if (!bucket)
        return;
    fifos->bucket = bucket;
    fifos->bits = bits + 1;
    move_all(fifos, old, bits);
    free(old);
}

/* Others of its bucket count as looked at, for they are what a table that
 * scatters badly would cost. */
static struct mgds_fifo_node *find_node(struct mgds_fifos *fifos, uint64_t key)
{
    struct mgds_fifo_node *node = *bucket_of(fifos, key);

    for (; node && node->key != key; node = node->alike)
        fifos->looks++;
    return node;
}

struct mgds_fifo_node *mgds_fifos_first(struct mgds_fifos *fifos, uint64_t key)
{
    struct mgds_fifo_node *node = find_node(fifos, key);

    fifos->looks += node != NULL;
    return node;
}

struct mgds_fifo_node *mgds_fifos_last(struct mgds_fifos *fifos, uint64_t key)
{
    struct mgds_fifo_node *node = find_node(fifos, key);

    return node ? node->prev : NULL;
}

void mgds_fifos_append(struct mgds_fifos *fifos, uint64_t key,
                       struct mgds_fifo_node *node)
{
    struct mgds_fifo_node *first = find_node(fifos, key);

    *node = (struct mgds_fifo_node){.key = key, .prev = node};
    if (first) {
        node->prev = first->prev;
        first->prev->next = node;
        first->prev = node;
        return;
    }
    grow_table(fifos);
    link_first(bucket_of(fifos, key), node);
    fifos->queues++;
}

/* The second of its queue, if there is one, stands for the queue then. */
static void remove_first(struct mgds_fifos *fifos, struct mgds_fifo_node *node)
{
    struct mgds_fifo_node **at = node->alike_ref, *next = node->next;

    unlink_first(node);
    if (next) {
        next->prev = node->prev;
        link_first(at, next);
    } else {
        fifos->queues--;
    }
}

/* The last one's `next` is NULL, and the first one's `prev` is the last. */
static void remove_later(struct mgds_fifos *fifos, struct mgds_fifo_node *node)
{
    struct mgds_fifo_node *next = node->next;

    if (!next)
        next = find_node(fifos, node->key);
    next->prev = node->prev;
    node->prev->next = node->next;
}

void mgds_fifos_remove(struct mgds_fifos *fifos, struct mgds_fifo_node *node)
{
    if (!mgds_fifo_is_in(node))
        return;
    if (mgds_fifo_is_first(node))
        remove_first(fifos, node);
    else
        remove_later(fifos, node);
    *node = (struct mgds_fifo_node){.key = node->key};
}

struct mgds_fifo_node *mgds_fifos_some(const struct mgds_fifos *fifos,
                                       uint64_t *at)
{
    for (; *at < UINT64_C(1) << fifos->bits; ++*at)
        if (fifos->bucket[*at])
            return fifos->bucket[*at];
    return NULL;
}
