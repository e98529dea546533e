/* A value for LD_PRELOAD under construction: an ordered set of files. */
#ifndef MGDS_RUN_PRELOAD_H
#define MGDS_RUN_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty list; fini frees what add has taken. */
struct mgds_preload {
    char **entry;
    size_t count;
};

void mgds_preload_fini(struct mgds_preload *list);

/* Appends a copy of path unless the same file, or the same text, is there
 * already. Returns 0, -EINVAL for a path with a space or colon (LD_PRELOAD
 * cannot hold it), or -ENOMEM. */
int mgds_preload_add(struct mgds_preload *list, const char *path);

/* Appends those entries of value (a user's LD_PRELOAD; may be null) that are,
 * or are not, the runtime of a sanitizer. Returns 0 or -ENOMEM. */
int mgds_preload_add_user(struct mgds_preload *list, const char *value,
                          bool sanitizers);

/* The list as LD_PRELOAD wants it; the caller frees it. Null without memory. */
char *mgds_preload_text(const struct mgds_preload *list);

#endif
