/* A pairing heap; see heap.h. */
#include "shim/gds/match/heap.h"

#include <stddef.h>

static void push_child(struct mgds_heap_node *parent,
                       struct mgds_heap_node *node)
{
    node->prev = parent;
    node->next = parent->child;
    if (node->next)
        node->next->prev = node;
    parent->child = node;
}

static void cut_node(struct mgds_heap_node *node)
{
    struct mgds_heap_node *prev = node->prev;

    *(prev->child == node ? &prev->child : &prev->next) = node->next;
    if (node->next)
        node->next->prev = prev;
    node->next = node->prev = NULL;
}

/* Two trees in no list become one. */
static struct mgds_heap_node *
join_heaps(struct mgds_heap_node *a, struct mgds_heap_node *b, uint64_t *looks)
{
    ++*looks;
    if (b->rank < a->rank) {
        push_child(b, a);
        return b;
    }
    push_child(a, b);
    return a;
}

static struct mgds_heap_node *pop_list(struct mgds_heap_node **list)
{
    struct mgds_heap_node *node = *list;

    if (node) {
        *list = node->next;
        node->next = node->prev = NULL;
    }
    return node;
}

/* The children of a node become one tree, or NULL: joined by pairs first, the
 * pairs from the last one on, which is what keeps trees low. */
static struct mgds_heap_node *join_children(struct mgds_heap_node *node,
                                            uint64_t *looks)
{
    struct mgds_heap_node *list = node->child, *pairs = NULL, *all, *tree;

    node->child = NULL;
    while ((tree = pop_list(&list)) != NULL) {
        struct mgds_heap_node *other = pop_list(&list);

        if (other)
            tree = join_heaps(tree, other, looks);
        tree->next = pairs;
        pairs = tree;
    }
    all = pop_list(&pairs);
    while ((tree = pop_list(&pairs)) != NULL)
        all = join_heaps(all, tree, looks);
    return all;
}

void mgds_heap_add(struct mgds_heap_node *heap, uint64_t rank,
                   struct mgds_heap_node *node)
{
    node->rank = rank;
    node->child = NULL;
    push_child(heap, node);
}

void mgds_heap_remove(struct mgds_heap_node *node, uint64_t *looks)
{
    struct mgds_heap_node *tree, *prev = node->prev;

    if (!mgds_heap_is_in(node))
        return;
    tree = join_children(node, looks);
    if (tree) {
        tree->prev = prev;
        tree->next = node->next;
        if (tree->next)
            tree->next->prev = tree;
        *(prev->child == node ? &prev->child : &prev->next) = tree;
        node->next = node->prev = NULL;
    } else {
        cut_node(node);
    }
}

static struct mgds_heap_node *take_any(struct mgds_heap_node *heap)
{
    struct mgds_heap_node *node = heap->child, *child;

    if (!node)
        return NULL;
    cut_node(node);
    while ((child = node->child) != NULL) {
        cut_node(child);
        push_child(heap, child);
    }
    return node;
}

struct mgds_heap_node *mgds_heap_take(struct mgds_heap_node *heap,
                                      uint64_t limit, uint64_t *looks)
{
    struct mgds_heap_node *lowest;

    if (limit == UINT64_MAX)
        return take_any(heap);
    lowest = join_children(heap, looks);
    if (!lowest)
        return NULL;
    if (lowest->rank >= limit) {
        push_child(heap, lowest);
        return NULL;
    }
    heap->child = lowest->child;
    if (heap->child)
        heap->child->prev = heap;
    lowest->child = NULL;
    return lowest;
}

void mgds_heap_move(struct mgds_heap_node *to, struct mgds_heap_node *from)
{
    to->child = from->child;
    if (to->child)
        to->child->prev = to;
    from->child = NULL;
}
