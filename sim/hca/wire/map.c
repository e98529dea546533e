/* Mappings that the devices of a process share. */
#include "sim/hca/wire/map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct mapping {
    dev_t device;
    ino_t inode;
    void *at;
    size_t bytes;
    unsigned users;
    struct mapping *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

static struct mapping *find_file(const struct stat *stat)
{
    struct mapping *it = mappings;

    while (it && (it->device != stat->st_dev || it->inode != stat->st_ino))
        it = it->next;
    return it;
}

static int add_file(int file, const struct stat *stat, size_t bytes,
                    struct mapping **out)
{
    struct mapping *it = malloc(sizeof(*it));
    void *at;

    if (!it)
        return -ENOMEM;
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        free(it);
        return -errno;
    }
    *it = (struct mapping){.device = stat->st_dev,
                           .inode = stat->st_ino,
                           .at = at,
                           .bytes = bytes,
                           .next = mappings};
    mappings = it;
    *out = it;
    return 0;
}

int mgds_hca_map_get(int file, size_t bytes, void **at)
{
    struct mapping *it;
    struct stat stat;
    int rc = 0;

    *at = NULL;
    if (fstat(file, &stat) < 0)
        return -errno;
    pthread_mutex_lock(&lock);
    it = find_file(&stat);
    if (!it)
        rc = add_file(file, &stat, bytes, &it);
    if (it) {
        it->users++;
        *at = it->at;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void mgds_hca_map_put(void *at)
{
    struct mapping **link = &mappings, *it;

    pthread_mutex_lock(&lock);
    while (*link && (*link)->at != at)
        link = &(*link)->next;
    it = *link;
    if (it && --it->users == 0) {
        *link = it->next;
        munmap(it->at, it->bytes);
        free(it);
    }
    pthread_mutex_unlock(&lock);
}
