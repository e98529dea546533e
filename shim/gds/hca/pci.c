/* Distances between PCI devices are what their paths do not have in common:
 * host bridge, bridges, device. */
#include "shim/gds/hca/pci.h"

#include <stdlib.h>
#include <string.h>

#include "shim/gds/hca/sysfs.h"

void mgds_pci_read(struct mgds_pci *out, const char *sysfs, const char *folder)
{
    char node[16];

    out->node = -1;
    mgds_sysfs_resolve(out->path, sizeof(out->path), "%s/%s", sysfs, folder);
    if (mgds_sysfs_line(node, sizeof(node), "%s/numa_node", out->path) == 0)
        out->node = (int)strtol(node, NULL, 10);
}

/* The host bridge, as pci0000:15, and what is behind it; NULL: there is none.
 */
static const char *bridge_of(const char *path)
{
    const char *found = strstr(path, "/pci");

    return found ? found + 1 : NULL;
}

/* Names of a path, of which `path` begins with one. */
static unsigned names_in(const char *path)
{
    unsigned count = path[0] != '\0';

    for (; *path; path++)
        count += *path == '/';
    return count;
}

/* Skips the names that both begin with; returns how many. */
static unsigned skip_common(const char **a, const char **b)
{
    unsigned count = 0;
    size_t length = strcspn(*a, "/");

    while (length > 0 && strcspn(*b, "/") == length &&
           memcmp(*a, *b, length) == 0) {
        *a += length + ((*a)[length] == '/');
        *b += length + ((*b)[length] == '/');
        length = strcspn(*a, "/");
        count++;
    }
    return count;
}

enum mgds_distance mgds_pci_distance(const struct mgds_pci *a,
                                     const struct mgds_pci *b)
{
    const char *at_a = bridge_of(a->path), *at_b = bridge_of(b->path);
    unsigned common;

    if (!at_a || !at_b)
        return MGDS_DISTANCE_SYS;
    common = skip_common(&at_a, &at_b);
    if (common == 0)
        return a->node >= 0 && a->node == b->node ? MGDS_DISTANCE_NODE
                                                  : MGDS_DISTANCE_SYS;
    if (common == 1)
        return MGDS_DISTANCE_PHB;
    /* Behind the switch each has a port of it, and itself. */
    return names_in(at_a) + names_in(at_b) <= 4 ? MGDS_DISTANCE_PIX
                                                : MGDS_DISTANCE_PXB;
}

const char *mgds_distance_name(enum mgds_distance distance)
{
    static const char *const names[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};

    return names[distance];
}
