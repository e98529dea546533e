/* The threads of a process, as the kernel counts them. */
#ifndef MGDS_TEST_THREADS_H
#define MGDS_TEST_THREADS_H

#include <dirent.h>

/* How many threads this process has; 0: /proc does not tell. */
static inline unsigned mgds_test_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    unsigned count = 0;

    if (!tasks)
        return 0;
    while ((entry = readdir(tasks)))
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

#endif
