/* Looking for a port in a list of names. */
#include "shim/gds/hca/netdevs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool is_same(const char *item, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(item, name, length) == 0;
}

static bool has_item(const char *list, const char *name)
{
    const char *item = list;
    size_t length;

    do {
        item += strspn(item, ", ");
        length = strcspn(item, ", ");
        if (length > 0 && is_same(item, length, name))
            return true;
        item += length;
    } while (length > 0);
    return false;
}

bool mgds_netdevs_allow(const char *list, const char *device, unsigned port)
{
    bool excludes = list && list[0] == '^';
    char name[128];

    if (!list || list[0] == '\0')
        return true;
    if (excludes)
        list++;
    snprintf(name, sizeof(name), "%s:%u", device, port);
    return (has_item(list, "all") || has_item(list, device) ||
            has_item(list, name)) != excludes;
}
