/* Where HCAs and software GPUs are among the buses of a machine: GPU N is as
 * far from HCA N as MPIX_SIM_HCA_GPU_DISTANCE says, and no nearer to others.
 * Without that there are HCAs alone, on one bus.
 *
 *   pix   bridge - switch - HCA            node  bridge - HCA
 *                         - GPU                  bridge - GPU
 *   pxb   bridge - switch - HCA            sys   the same, of two NUMA nodes
 *                         - switch - GPU
 *   phb   bridge - HCA
 *                - GPU
 */
#ifndef MGDS_HCA_DISTANCE_H
#define MGDS_HCA_DISTANCE_H

#include <stdbool.h>

enum { MGDS_HCA_BUS_PATH = 128 };

/* GPUs are shown. */
bool mgds_hca_shows_gpus(void);

/* Paths of both below /sys/devices. */
void mgds_hca_bus_path(unsigned index, char path[MGDS_HCA_BUS_PATH]);
void mgds_hca_gpu_bus_path(unsigned index, char path[MGDS_HCA_BUS_PATH]);

/* Their NUMA nodes; -1: nothing is said. */
int mgds_hca_node_of_hca(void);
int mgds_hca_node_of_gpu(void);

#endif
