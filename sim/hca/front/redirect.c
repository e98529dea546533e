/* Paths of the devices, and the tree. */
#include "sim/hca/front/redirect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hca/front/distance.h"
#include "sim/hca/front/live.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/front/tree.h"

static const char *const beginnings[] = {
    "/sys/class/infiniband",
    "/dev/infiniband",
    "/sys/devices/" MGDS_HCA_PCI_ROOT,
    "/sys/devices/" MGDS_HCA_PCI_ROOT_2,
    "/sys/bus/pci/devices/" MGDS_HCA_PCI_DOMAIN,
};

static const char buses[] = "/sys/bus/pci/devices/";
static const char node[] = "/dev/infiniband/uverbs";

static bool begins_with(const char *path, const char *beginning)
{
    return strncmp(path, beginning, strlen(beginning)) == 0;
}

/* A GPU beside an HCA; that of the machine which has its place is hidden. */
static bool is_gpu(const char *path)
{
    char name[MGDS_HCA_BDF];

    if (!begins_with(path, buses) || !mgds_hca_shows_gpus())
        return false;
    for (unsigned i = 0; i < mgds_hca_settings()->count; i++) {
        mgds_hca_gpu_bdf(i, name);
        if (begins_with(path + sizeof(buses) - 1, name))
            return true;
    }
    return false;
}

static bool is_ours(const char *path)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        if (begins_with(path, beginnings[i]))
            return true;
    }
    return is_gpu(path);
}

const char *mgds_hca_redirect(const char *path, char room[PATH_MAX])
{
    const char *root;

    if (!path || path[0] != '/' || !is_ours(path))
        return path;
    root = mgds_hca_tree();
    if (root && snprintf(room, PATH_MAX, "%s%s", root, path) < PATH_MAX) {
        mgds_hca_live_refresh(room);
        return room;
    }
    errno = root ? ENAMETOOLONG : ENOENT;
    return NULL;
}

void mgds_hca_unredirect(char *path)
{
    const char *root = strstr(path, "/mpix-sim-hca.") ? mgds_hca_tree() : NULL;
    size_t length = root ? strlen(root) : 0;

    if (root && strncmp(path, root, length) == 0 && path[length] == '/')
        memmove(path, path + length, strlen(path + length) + 1);
}

int mgds_hca_node(const char *path)
{
    unsigned long number;
    char *end;

    if (!path || strncmp(path, node, sizeof(node) - 1) != 0)
        return -1;
    path += sizeof(node) - 1;
    if (path[0] < '0' || path[0] > '9')
        return -1;
    number = strtoul(path, &end, 10);
    return *end == '\0' && number < mgds_hca_settings()->count ? (int)number
                                                               : -1;
}
