/* Writes what changes into the tree. */
#include "sim/hca/front/live.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hca/front/next.h"
#include "sim/hca/front/port.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/pump.h"

enum { TEXT = 32 };

static const char prefix[] = "mlx5_";
static const char folder[] = "/ports/";

static const char *const names[MGDS_HCA_COUNTS] = {
#define X(name, folder, text) [MGDS_COUNT_##name] = folder "/" text,
#include "sim/hca/wire/counts.def"
#undef X
};

/* The device whose folder ends there, or -1. */
static int device_before(const char *path, const char *end)
{
    const char *name = end;

    while (name > path && name[-1] != '/')
        name--;
    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return -1;
    return (int)strtoul(name + sizeof(prefix) - 1, NULL, 10);
}

/* Who reads the file meanwhile finds the old text or the new one. */
static void write_text(const char *path, const char *text)
{
    char other[PATH_MAX + sizeof(".new")];
    FILE *file;
    bool good;

    snprintf(other, sizeof(other), "%s.new", path);
    file = MGDS_HCA_NEXT(fopen)(other, "we");
    if (!file)
        return;
    good = fprintf(file, "%s\n", text) > 0;
    if (fclose(file) == 0 && good)
        rename(other, path);
    else
        remove(other);
}

/* False: the file is no counter. */
static bool tell_count(unsigned device, unsigned port, const char *name,
                       char text[TEXT])
{
    for (unsigned i = 0; i < MGDS_HCA_COUNTS; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        snprintf(text, TEXT, "%" PRIu64, mgds_hca_ports_count(device, port, i));
        return true;
    }
    return false;
}

/* What a file of a port says. False: always the same. Under the lock. */
static bool tell(unsigned device, unsigned port, const char *name,
                 char text[TEXT])
{
    bool up = mgds_hca_ports_up(device, port);

    if (strcmp(name, "state") == 0)
        snprintf(text, TEXT, up ? "4: ACTIVE" : "1: DOWN");
    else if (strcmp(name, "phys_state") == 0)
        snprintf(text, TEXT, "%s", mgds_hca_port_physical(up)->text);
    else
        return tell_count(device, port, name, text);
    return true;
}

void mgds_hca_live_refresh(const char *path)
{
    const char *at = strstr(path, folder);
    int device = at && mgds_hca_pump_serves() ? device_before(path, at) : -1;
    unsigned long port;
    char text[TEXT], *name;
    bool changes;

    if (device < 0)
        return;
    port = strtoul(at + sizeof(folder) - 1, &name, 10);
    if (*name != '/')
        return;
    mgds_hca_lock();
    changes = tell((unsigned)device, (unsigned)port, name + 1, text);
    mgds_hca_unlock();
    if (changes)
        write_text(path, text);
}
