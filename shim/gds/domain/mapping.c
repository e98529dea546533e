/* Lists of memory; see mapping.h. */
#include "shim/gds/domain/mapping.h"

#include <stdlib.h>

#include "shim/base/alloc.h"

static struct mgds_mapping *unlink_at(struct mgds_mapping **at)
{
    struct mgds_mapping *item = *at;

    *at = item->next;
    return item;
}

static void push(struct mgds_mapping **list, struct mgds_mapping *item)
{
    item->next = *list;
    *list = item;
}

struct mgds_mapping *mgds_mapping_find(struct mgds_mapping **list, uint64_t id)
{
    struct mgds_mapping **at = list;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    push(list, unlink_at(at));
    return *list;
}

struct mgds_mapping *mgds_mapping_add(struct mgds_mapping **list,
                                      const struct mgds_export_handle *handle)
{
    struct mgds_mapping *item =
        (struct mgds_mapping *)mgds_calloc(1, sizeof(*item));

    if (!item)
        return NULL;
    item->id = handle->id;
    item->handle = *handle;
    push(list, item);
    return item;
}

void mgds_mapping_drop(struct mgds_mapping **list, struct mgds_mapping *item)
{
    struct mgds_mapping **at = list;

    while (*at != item)
        at = &(*at)->next;
    unlink_at(at);
    if (item->import)
        mgds_import_put(item->import);
    free(item);
}

void mgds_mappings_clear(struct mgds_mapping **list)
{
    while (*list)
        mgds_mapping_drop(list, *list);
}
