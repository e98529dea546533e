/* Where this installation lies. Programs find the library and each other
 * relative to themselves, so a tree may be moved as a whole. */
#ifndef MGDS_TOOLS_PLACE_H
#define MGDS_TOOLS_PLACE_H

#include <limits.h>

struct mgds_place {
    char bin[PATH_MAX];   /* folder of the running program */
    char lib[PATH_MAX];   /* folder of the library */
    char sim[PATH_MAX];   /* folder of the simulators */
    char bench[PATH_MAX]; /* folder of the benchmarks */
};

/* Fills place for the running program. lib is the first folder that holds the
 * library of this version (MGDS_LIBRARY_NAME), of ../lib and ../<libdir of the
 * install>; ../lib when none does (whether a file is there is the caller's
 * question). Returns 0, -ENAMETOOLONG, or what reading /proc/self/exe failed
 * with. */
int mgds_place_find(struct mgds_place *place);

/* path = folder/name, in a buffer of PATH_MAX. Returns 0 or -ENAMETOOLONG. */
int mgds_place_join(char path[PATH_MAX], const char *folder, const char *name);

#endif
