/* Paths of HCAs and GPUs. */
#include "sim/hca/front/distance.h"

#include <stdio.h>

#include "sim/hca/front/model.h"
#include "sim/hca/front/settings.h"

/* Buses of the switches of pair N: their ports to the host, and away from it.
 */
#define DOMAIN MGDS_HCA_PCI_DOMAIN_ONLY
#define NEAR DOMAIN ":%02x:00.0/"
#define BELOW DOMAIN ":%02x:%02x.0/"
enum { FIRST = 0x20, SECOND = 0x40, THIRD = 0x60, FOURTH = 0x80 };

/* What stands in front of the name; nodes are NUMA's. */
static const struct {
    bool hca_at_switch;
    unsigned gpu_switches;
    const char *gpu_root;
    int hca_node;
    int gpu_node;
} rows[MGDS_HCA_DISTANCES] = {
    [MGDS_HCA_DISTANCE_NONE] = {false, 0, MGDS_HCA_PCI_ROOT, -1, -1},
    [MGDS_HCA_DISTANCE_PIX] = {true, 1, MGDS_HCA_PCI_ROOT, 0, 0},
    [MGDS_HCA_DISTANCE_PXB] = {true, 2, MGDS_HCA_PCI_ROOT, 0, 0},
    [MGDS_HCA_DISTANCE_PHB] = {false, 0, MGDS_HCA_PCI_ROOT, 0, 0},
    [MGDS_HCA_DISTANCE_NODE] = {false, 0, MGDS_HCA_PCI_ROOT_2, 0, 0},
    [MGDS_HCA_DISTANCE_SYS] = {false, 0, MGDS_HCA_PCI_ROOT_2, 0, 1},
};

static enum mgds_hca_distance distance(void)
{
    return (enum mgds_hca_distance)mgds_hca_settings()->gpu_distance;
}

bool mgds_hca_shows_gpus(void)
{
    return distance() != MGDS_HCA_DISTANCE_NONE;
}

void mgds_hca_bus_path(unsigned index, char path[MGDS_HCA_BUS_PATH])
{
    char name[MGDS_HCA_BDF];

    mgds_hca_bdf(index, name);
    if (rows[distance()].hca_at_switch)
        snprintf(path, MGDS_HCA_BUS_PATH, MGDS_HCA_PCI_ROOT "/" NEAR BELOW "%s",
                 FIRST + index, SECOND + index, 0, name);
    else
        snprintf(path, MGDS_HCA_BUS_PATH, MGDS_HCA_PCI_ROOT "/%s", name);
}

/* The second switch is at a port of the first one. */
void mgds_hca_gpu_bus_path(unsigned index, char path[MGDS_HCA_BUS_PATH])
{
    const char *root = rows[distance()].gpu_root;
    char name[MGDS_HCA_BDF];

    mgds_hca_gpu_bdf(index, name);
    if (rows[distance()].gpu_switches == 2)
        snprintf(path, MGDS_HCA_BUS_PATH, "%s/" NEAR BELOW NEAR BELOW "%s",
                 root, FIRST + index, SECOND + index, 1, THIRD + index,
                 FOURTH + index, 0, name);
    else if (rows[distance()].gpu_switches == 1)
        snprintf(path, MGDS_HCA_BUS_PATH, "%s/" NEAR BELOW "%s", root,
                 FIRST + index, SECOND + index, 1, name);
    else
        snprintf(path, MGDS_HCA_BUS_PATH, "%s/%s", root, name);
}

int mgds_hca_node_of_hca(void)
{
    return rows[distance()].hca_node;
}

int mgds_hca_node_of_gpu(void)
{
    return rows[distance()].gpu_node;
}
