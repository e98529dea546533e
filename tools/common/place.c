/* Finds the folders of this installation from /proc/self/exe. */
#include "tools/common/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mgds_place_join(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);

    return length >= 0 && length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int find_bin(char bin[PATH_MAX])
{
    char *slash;
    ssize_t length = readlink("/proc/self/exe", bin, PATH_MAX - 1);

    if (length < 0)
        return -errno;
    if (length == PATH_MAX - 1)
        return -ENAMETOOLONG;
    bin[length] = '\0';
    slash = strrchr(bin, '/');
    if (!slash)
        return -ENOENT;
    *slash = '\0';
    return 0;
}

/* The folder that bin/relative names, without its dots when it exists. */
static int resolve(char folder[PATH_MAX], const char *bin, const char *relative)
{
    char dotted[PATH_MAX];
    int rc = mgds_place_join(dotted, bin, relative);

    if (rc < 0)
        return rc;
    if (!realpath(dotted, folder))
        memcpy(folder, dotted, PATH_MAX);
    return 0;
}

/* The first of two folders, named from bin, in which there is name; the first
 * of them if it is in neither. */
static int find_folder(char folder[PATH_MAX], const char *bin,
                       const char *const candidate[2], const char *name)
{
    char path[PATH_MAX];
    int rc;

    for (size_t i = 0; i < 2; i++) {
        rc = resolve(folder, bin, candidate[i]);
        if (rc == 0)
            rc = mgds_place_join(path, folder, name);
        if (rc < 0)
            return rc;
        if (access(path, F_OK) == 0)
            return 0;
    }
    return resolve(folder, bin, candidate[0]);
}

int mgds_place_find(struct mgds_place *place)
{
    static const char *const lib[] = {"../lib", MGDS_LIB_FROM_BIN};
    static const char *const bench[] = {"../libexec/mpix-gds",
                                        MGDS_BENCH_FROM_BIN};
    int rc = find_bin(place->bin);

    if (rc == 0)
        rc = find_folder(place->lib, place->bin, lib, MGDS_LIBRARY_NAME);
    if (rc == 0)
        rc = find_folder(place->bench, place->bin, bench, ".");
    if (rc == 0)
        rc = mgds_place_join(place->sim, place->lib, "mpix-gds/sim");
    return rc;
}
