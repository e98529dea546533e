/* Builds the value of LD_PRELOAD. */
#include "tools/run/preload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What separates entries, see ld.so(8). */
static const char separators[] = " :";

void mgds_preload_fini(struct mgds_preload *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->entry[i]);
    free(list->entry);
    *list = (struct mgds_preload){0};
}

/* A name without a slash is looked up by the loader, not here. */
static bool same_file(const char *a, const char *b)
{
    struct stat of_a;
    struct stat of_b;

    if (strcmp(a, b) == 0)
        return true;
    if (!strchr(a, '/') || !strchr(b, '/'))
        return false;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

int mgds_preload_add(struct mgds_preload *list, const char *path)
{
    char **grown;

    if (path[strcspn(path, separators)] != '\0')
        return -EINVAL;
    for (size_t i = 0; i < list->count; i++)
        if (same_file(list->entry[i], path))
            return 0;
    grown = realloc(list->entry, (list->count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    list->entry = grown;
    list->entry[list->count] = strdup(path);
    if (!list->entry[list->count])
        return -ENOMEM;
    list->count++;
    return 0;
}

static bool is_sanitizer(const char *path)
{
    static const char *const runtime[] = {"libasan.so", "libtsan.so",
                                          "libubsan.so", "liblsan.so",
                                          "libclang_rt."};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
        if (strncmp(name, runtime[i], strlen(runtime[i])) == 0)
            return true;
    return false;
}

int mgds_preload_add_user(struct mgds_preload *list, const char *value,
                          bool sanitizers)
{
    char *rest = NULL;
    char *copy = value ? strdup(value) : NULL;
    int rc = value && !copy ? -ENOMEM : 0;

    for (char *path = copy ? strtok_r(copy, separators, &rest) : NULL;
         path && rc == 0; path = strtok_r(NULL, separators, &rest))
        if (is_sanitizer(path) == sanitizers)
            rc = mgds_preload_add(list, path);
    free(copy);
    return rc;
}

char *mgds_preload_text(const struct mgds_preload *list)
{
    size_t size = 1;
    char *text;
    char *end;

    for (size_t i = 0; i < list->count; i++)
        size += strlen(list->entry[i]) + 1;
    text = malloc(size);
    if (!text)
        return NULL;
    end = text;
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            *end++ = ':';
        end = stpcpy(end, list->entry[i]);
    }
    *end = '\0';
    return text;
}
