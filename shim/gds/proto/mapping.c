/* Lists of memory; see mapping.h. */
#include "shim/gds/proto/mapping.h"

#include <stdlib.h>

#include "shim/base/alloc.h"

static struct mgds_mapping *unlink_at(struct mgds_mapping **at)
{
    struct mgds_mapping *item = *at;

    *at = item->next;
    return item;
}

static void push_mapping(struct mgds_mappings *list, struct mgds_mapping *item)
{
    item->next = list->first;
    list->first = item;
}

struct mgds_mapping *mgds_mapping_find(struct mgds_mappings *list, uint64_t id)
{
    struct mgds_mapping **at = &list->first;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    push_mapping(list, unlink_at(at));
    return list->first;
}

struct mgds_mapping *mgds_mapping_add(struct mgds_mappings *list,
                                      const struct mgds_export_handle *handle)
{
    struct mgds_mapping *item =
        (struct mgds_mapping *)mgds_calloc(1, sizeof(*item));

    if (!item)
        return NULL;
    item->id = handle->id;
    item->handle = *handle;
    push_mapping(list, item);
    return item;
}

void mgds_mapping_drop(struct mgds_mappings *list, struct mgds_mapping *item)
{
    struct mgds_mapping **at = &list->first;

    while (*at != item)
        at = &(*at)->next;
    unlink_at(at);
    if (item->import)
        mgds_import_put(item->import);
    free(item);
}

void mgds_mappings_clear(struct mgds_mappings *list)
{
    while (list->first)
        mgds_mapping_drop(list, list->first);
}
