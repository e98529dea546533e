/* Reading the ports of sysfs. */
#include "shim/gds/hca/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/hca/sysfs.h"

#define CLASS "%s/class/infiniband"
#define NVIDIA "0x15b3"

/* Ports found so far, below this folder. */
struct list {
    const char *sysfs;
    struct mgds_port *ports;
    unsigned count;
};

static void read_line(char *line, size_t size, const char *sysfs,
                      const struct mgds_port *port, const char *name)
{
    mgds_sysfs_line(line, size, CLASS "/%s/ports/%u/%s", sysfs, port->device,
                    port->number, name);
}

/* "4: ACTIVE", "InfiniBand", "400 Gb/sec (4X NDR)". */
static void read_port(struct mgds_port *port, const char *sysfs)
{
    char line[64];

    read_line(line, sizeof(line), sysfs, port, "state");
    port->active = strstr(line, "ACTIVE") != NULL;
    read_line(line, sizeof(line), sysfs, port, "link_layer");
    if (strcmp(line, "InfiniBand") == 0)
        port->link = MGDS_LINK_INFINIBAND;
    else if (strcmp(line, "Ethernet") == 0)
        port->link = MGDS_LINK_ETHERNET;
    read_line(line, sizeof(line), sysfs, port, "rate");
    port->rate = (unsigned)strtoul(line, NULL, 10);
}

static int append(struct list *list, const struct mgds_port *port)
{
    struct mgds_port *ports = (struct mgds_port *)mgds_realloc(
        list->ports, (list->count + 1) * sizeof(*ports));

    if (!ports)
        return -ENOMEM;
    list->ports = ports;
    ports[list->count++] = *port;
    return 0;
}

/* What all ports of the device have alike is in `port`. */
static int list_ports(struct list *list, struct mgds_port port)
{
    char **names;
    int count =
        mgds_sysfs_names(&names, CLASS "/%s/ports", list->sysfs, port.device);
    int rc = count < 0 ? count : 0;

    for (int i = 0; i < count && rc == 0; i++) {
        port.number = (unsigned)strtoul(names[i], NULL, 10);
        port.link = MGDS_LINK_OTHER;
        read_port(&port, list->sysfs);
        rc = append(list, &port);
    }
    mgds_sysfs_free(names, count);
    return rc;
}

static int list_device(struct list *list, const char *name)
{
    struct mgds_port port = {.number = 0};
    char folder[sizeof(port.device) + 32], vendor[16];

    if (strlen(name) >= sizeof(port.device))
        return 0;
    memcpy(port.device, name, strlen(name) + 1);
    snprintf(folder, sizeof(folder), "class/infiniband/%s/device", port.device);
    mgds_pci_read(&port.pci, list->sysfs, folder);
    mgds_sysfs_line(vendor, sizeof(vendor), "%s/%s/vendor", list->sysfs,
                    folder);
    port.connectx = strcmp(vendor, NVIDIA) == 0;
    return list_ports(list, port);
}

int mgds_ports_list(struct mgds_port **out, const char *sysfs)
{
    struct list list = {.sysfs = sysfs};
    char **names;
    int count = mgds_sysfs_names(&names, CLASS, sysfs);
    int rc = count < 0 ? count : 0;

    for (int i = 0; i < count && rc == 0; i++)
        rc = list_device(&list, names[i]);
    mgds_sysfs_free(names, count);
    if (rc < 0) {
        free(list.ports);
        return rc;
    }
    *out = list.ports;
    return (int)list.count;
}
