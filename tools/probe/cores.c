/* Cores of a thread; see cores.h. */
#include "tools/probe/cores.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first processor of the core that one is of: itself, if nobody knows. */
static int core_of(int processor)
{
    char path[128];
    char list[32];
    char *end;
    long first = processor;
    FILE *file;

    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             processor);
    file = fopen(path, "re");
    if (!file)
        return processor;
    if (fgets(list, sizeof(list), file)) {
        first = strtol(list, &end, 10);
        if (end == list || first < 0 || first >= CPU_SETSIZE)
            first = processor;
    }
    fclose(file);
    return (int)first;
}

/* Of a thread of this process; 0: the calling one. */
static int cores_of(pid_t thread)
{
    cpu_set_t processors, cores;

    CPU_ZERO(&cores);
    if (sched_getaffinity(thread, sizeof(processors), &processors) < 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &processors))
            CPU_SET((size_t)core_of(i), &cores);
    return CPU_COUNT(&cores);
}

int mgds_probe_rank_cores(void)
{
    return cores_of(0);
}

static int is_progress(const char *thread)
{
    char path[64];
    char name[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", thread);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (!fgets(name, sizeof(name), file))
        name[0] = '\0';
    fclose(file);
    return strcmp(name, "mpix-gds-wire\n") == 0;
}

int mgds_probe_progress_cores(void)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *entry;
    int cores = 0;

    if (!threads)
        return 0;
    while (cores == 0 && (entry = readdir(threads)) != NULL)
        if (is_progress(entry->d_name))
            cores = cores_of((pid_t)strtol(entry->d_name, NULL, 10));
    closedir(threads);
    return cores;
}
