/* Where the progress thread runs; see affinity.h. Reads files of /sys. */
#include "shim/gds/wire/affinity.h"

#include <stdio.h>
#include <stdlib.h>

#include "shim/base/log.h"

enum { TEXT = 4096, PATH = 128 };

static bool is_inside(const cpu_set_t *some, const cpu_set_t *all)
{
    cpu_set_t both;

    CPU_AND(&both, some, all);
    return CPU_EQUAL(&both, some);
}

static void fill_cpus(cpu_set_t *set)
{
    CPU_ZERO(set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        CPU_SET((size_t)i, set);
}

bool mgds_affinity_choose(cpu_set_t *out, enum mgds_affinity how,
                          const cpu_set_t *now, const cpu_set_t *siblings,
                          const cpu_set_t *node)
{
    bool one = CPU_COUNT(now) == 1 || is_inside(now, siblings);

    if (how == MGDS_AFFINITY_INHERIT || (how == MGDS_AFFINITY_AUTO && !one))
        return false;
    if (how == MGDS_AFFINITY_ALL || CPU_COUNT(node) == 0)
        fill_cpus(out);
    else
        *out = *node;
    return true;
}

/* first, or first-last. */
static bool parse_range(cpu_set_t *out, const char **text)
{
    char *end;
    long first = strtol(*text, &end, 10), last = first;

    if (end == *text)
        return false;
    if (*end == '-') {
        *text = end + 1;
        last = strtol(*text, &end, 10);
        if (end == *text)
            return false;
    }
    *text = end;
    if (first < 0 || last < first || last >= CPU_SETSIZE)
        return false;
    for (long i = first; i <= last; i++)
        CPU_SET((size_t)i, out);
    return true;
}

bool mgds_affinity_parse(cpu_set_t *out, const char *text)
{
    CPU_ZERO(out);
    while (parse_range(out, &text)) {
        if (*text != ',')
            return *text == '\0' || *text == '\n';
        text++;
    }
    return false;
}

/* Empty if the file says nothing of use. */
static void read_list(cpu_set_t *out, const char *path)
{
    char text[TEXT];
    FILE *file = fopen(path, "re");

    CPU_ZERO(out);
    if (!file)
        return;
    if (!fgets(text, sizeof(text), file) || !mgds_affinity_parse(out, text))
        CPU_ZERO(out);
    fclose(file);
}

static int first_of(const cpu_set_t *set)
{
    int i = 0;

    while (i < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)i, set))
        i++;
    return i;
}

static void read_siblings(cpu_set_t *out, const cpu_set_t *now)
{
    char path[PATH];

    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             first_of(now));
    read_list(out, path);
}

/* Of the processor that the thread is on: one of now. */
static void read_node(cpu_set_t *out)
{
    unsigned cpu, node;
    char path[PATH];

    CPU_ZERO(out);
    if (getcpu(&cpu, &node) < 0)
        return;
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist",
             node);
    read_list(out, path);
}

/* The kernel takes away what the process's cpuset does not have. */
void mgds_affinity_settle(enum mgds_affinity how)
{
    cpu_set_t now, siblings, node, next;

    if (sched_getaffinity(0, sizeof(now), &now) < 0)
        return;
    read_siblings(&siblings, &now);
    read_node(&node);
    if (!mgds_affinity_choose(&next, how, &now, &siblings, &node))
        return;
    if (sched_setaffinity(0, sizeof(next), &next) < 0)
        mgds_debug("wire: the progress thread stays on %d processors: %m",
                   CPU_COUNT(&now));
    else if (sched_getaffinity(0, sizeof(next), &next) == 0)
        mgds_debug("wire: the progress thread may run on %d processors, its "
                   "rank on %d",
                   CPU_COUNT(&next), CPU_COUNT(&now));
}
