/* Facts about RDMA devices, from sysfs alone: nothing is opened. */
#include "tools/probe/facts.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line of a file, without its end; empty if there is none. */
static void read_line(char *line, int size, const char *path)
{
    FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (!file)
        return;
    if (!fgets(line, size, file))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

static void read_port(char *line, int size, const char *device,
                      const char *attribute)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/ports/1/%s", device, attribute) <
        (int)sizeof(path))
        read_line(line, size, path);
    else
        line[0] = '\0';
}

/* "4: ACTIVE" in sysfs. */
static json_t *probe_device(const char *folder, const char *name)
{
    char device[PATH_MAX];
    char state[64];
    char layer[64];
    char rate[64];

    if (snprintf(device, sizeof(device), "%s/%s", folder, name) >=
        (int)sizeof(device))
        return NULL;
    read_port(state, sizeof(state), device, "state");
    read_port(layer, sizeof(layer), device, "link_layer");
    read_port(rate, sizeof(rate), device, "rate");
    return json_pack("{s:s s:b s:s s:s s:s}", "name", name, "active",
                     strstr(state, "ACTIVE") != NULL, "state", state, "layer",
                     layer, "rate", rate);
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

json_t *mgds_probe_hca(void)
{
    const char *sysfs = getenv("SYSFS_PATH");
    struct dirent **entry;
    char folder[PATH_MAX];
    json_t *facts = json_array();
    int count;

    if (snprintf(folder, sizeof(folder), "%s/class/infiniband",
                 sysfs ? sysfs : "/sys") >= (int)sizeof(folder))
        return facts;
    count = scandir(folder, &entry, is_name, alphasort);
    if (count < 0)
        return facts; /* no such class: no device */
    for (int i = 0; i < count; i++) {
        json_array_append_new(facts, probe_device(folder, entry[i]->d_name));
        free(entry[i]);
    }
    free(entry);
    return facts;
}
