/* Where a device is among the buses of the machine, and how far from another
 * one, as sysfs tells it. */
#ifndef MGDS_HCA_PCI_H
#define MGDS_HCA_PCI_H

enum { MGDS_PCI_PATH = 256 };

struct mgds_pci {
    char path[MGDS_PCI_PATH]; /* without links; "": not known */
    int node;                 /* of NUMA; -1: not known */
};

/* What lies between two devices, from near to far, with the names that
 * `nvidia-smi topo -m` has for it. */
enum mgds_distance {
    MGDS_DISTANCE_PIX,  /* one switch at most */
    MGDS_DISTANCE_PXB,  /* several switches */
    MGDS_DISTANCE_PHB,  /* a host bridge */
    MGDS_DISTANCE_NODE, /* two host bridges of a NUMA node */
    MGDS_DISTANCE_SYS   /* whatever else, or it is not known */
};

/* The device with that folder below sysfs ("/sys"), or that a link there means:
 * of a PCI device, "bus/pci/devices/0000:17:00.0". */
void mgds_pci_read(struct mgds_pci *out, const char *sysfs, const char *folder);

enum mgds_distance mgds_pci_distance(const struct mgds_pci *a,
                                     const struct mgds_pci *b);

const char *mgds_distance_name(enum mgds_distance distance);

#endif
