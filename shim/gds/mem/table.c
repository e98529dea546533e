/* Layouts into nodes; see table.h. A layout that is a member in many places is
 * written once: a tree (search.h) has where. */
#include "shim/gds/mem/table.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"

/* While it is made. Nodes move when it grows, so they go by index. */
struct maker {
    struct mgds_table *table;
    size_t room;
    void *places; /* of struct place */
};

/* Where the nodes of a layout, or of the parts of a list, begin. */
struct place {
    const void *what;
    size_t index;
};

static int compare_nodes(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct place *)a)->what;
    uintptr_t right = (uintptr_t)((const struct place *)b)->what;

    return (left > right) - (left < right);
}

/* 1 and the place, or 0: the caller must write the nodes that begin there. */
static int find_place(struct maker *maker, const void *what, size_t *index)
{
    struct place key = {what, maker->table ? maker->table->nodes : 0}, *fresh;
    void *found = tfind(&key, &maker->places, compare_nodes);

    if (found) {
        *index = (*(struct place **)found)->index;
        return 1;
    }
    fresh = (struct place *)mgds_malloc(sizeof(*fresh));
    if (!fresh)
        return -ENOMEM;
    *fresh = key;
    if (!tsearch(fresh, &maker->places, compare_nodes)) {
        free(fresh);
        return -ENOMEM;
    }
    *index = key.index;
    return 0;
}

static int append_nodes(struct maker *maker, size_t nodes)
{
    size_t used = maker->table ? maker->table->nodes : 0;
    size_t room = maker->room ? maker->room : 8;
    struct mgds_table *more;

    while (room < used + nodes)
        room *= 2;
    if (!maker->table || room > maker->room) {
        if (room > (SIZE_MAX - sizeof(*more)) / sizeof(more->node[0]))
            return -ENOMEM;
        more = (struct mgds_table *)mgds_realloc(
            maker->table, sizeof(*more) + room * sizeof(more->node[0]));
        if (!more)
            return -ENOMEM;
        if (!maker->table)
            more->grain = 0;
        maker->table = more;
        maker->room = room;
    }
    maker->table->nodes = used + nodes;
    return 0;
}

static void set_node(struct maker *maker, size_t index,
                     const struct mgds_pack_node *node)
{
    uint64_t grain = (uint64_t)node->offset;

    if (node->kind != MGDS_PACK_LIST)
        grain |= node->width | (uint64_t)node->pitch | (uint64_t)node->slice;
    maker->table->grain |= grain;
    maker->table->node[index] = *node;
}

static void set_span(struct maker *maker, size_t index,
                     const struct mgds_span *span, struct mgds_pack_node node)
{
    node.kind = MGDS_PACK_SPAN;
    node.offset += span->offset;
    node.width = span->width;
    node.rows = span->rows;
    node.pitch = span->rows > 1 ? span->pitch : 0;
    node.slice = span->planes > 1 ? span->slice : 0;
    set_node(maker, index, &node);
}

/* Where a layout's bytes begin, and ahead of which they come. */
static int write_at(struct maker *maker, size_t index,
                    const struct mgds_layout *layout,
                    struct mgds_pack_node node);

static int write_parts(struct maker *maker, const struct mgds_layout *list,
                       size_t *index)
{
    int rc = find_place(maker, list->part, index);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = append_nodes(maker, list->count);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        const struct mgds_part *part = &list->part[i];
        struct mgds_pack_node node = {.before = part->before};

        if (!part->layout) {
            set_span(maker, *index + i, &part->span, node);
            continue;
        }
        node.offset = part->span.offset;
        rc = write_at(maker, *index + i, part->layout, node);
    }
    return rc;
}

static int write_child(struct maker *maker, const struct mgds_layout *child,
                       size_t *index)
{
    const struct mgds_pack_node node = {0};
    int rc = find_place(maker, child, index);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = append_nodes(maker, 1);
    return rc < 0 ? rc : write_at(maker, *index, child, node);
}

static int write_at(struct maker *maker, size_t index,
                    const struct mgds_layout *layout,
                    struct mgds_pack_node node)
{
    size_t to;
    int rc;

    if (layout->kind == MGDS_LAYOUT_SPAN) {
        set_span(maker, index, &layout->span, node);
        return 0;
    }
    if (layout->kind == MGDS_LAYOUT_LIST) {
        rc = write_parts(maker, layout, &to);
        node.kind = MGDS_PACK_LIST;
        node.rows = layout->count;
    } else {
        rc = write_child(maker, layout->child, &to);
        node.kind = MGDS_PACK_REPEAT;
        node.width = layout->child->size;
        node.pitch = layout->stride;
    }
    if (rc < 0)
        return rc;
    node.link = (int64_t)to - (int64_t)index;
    set_node(maker, index, &node);
    return 0;
}

static int make_table(struct mgds_table **out, const struct mgds_layout *layout)
{
    const struct mgds_pack_node node = {0};
    struct maker maker = {0};
    int rc = append_nodes(&maker, 1);

    if (rc == 0)
        rc = write_at(&maker, 0, layout, node);
    tdestroy(maker.places, free);
    if (rc < 0) {
        free(maker.table);
        return rc;
    }
    *out = maker.table;
    return 0;
}

int mgds_table_of(const struct mgds_table **out, struct mgds_layout *layout)
{
    struct mgds_table *table =
        __atomic_load_n(&layout->table, __ATOMIC_ACQUIRE);
    struct mgds_table *first = NULL;
    int rc;

    if (!table) {
        rc = make_table(&table, layout);
        if (rc < 0)
            return rc;
        if (!__atomic_compare_exchange_n(&layout->table, &first, table, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            free(table);
            table = first;
        }
    }
    *out = table;
    return 0;
}

void mgds_table_destroy(struct mgds_table *table)
{
    free(table);
}

void mgds_table_write(struct mgds_pack_node *to, const struct mgds_table *table,
                      const struct mgds_layout *layout, size_t count)
{
    *to = (struct mgds_pack_node){.kind = MGDS_PACK_REPEAT,
                                  .width = layout->size,
                                  .pitch = count > 1 ? layout->extent : 0,
                                  .link = 1};
    memcpy(to + 1, table->node, table->nodes * sizeof(*to));
}
