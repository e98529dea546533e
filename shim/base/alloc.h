/* Memory from the C library, with the fault hook in front. What these return
 * is given back with free(). */
#ifndef MGDS_BASE_ALLOC_H
#define MGDS_BASE_ALLOC_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fault.h"

static inline void *mgds_malloc(size_t size)
{
    if (MGDS_FAULT_POINT(alloc)) {
        errno = ENOMEM;
        return NULL;
    }
    return malloc(size);
}

static inline void *mgds_calloc(size_t count, size_t size)
{
    if (MGDS_FAULT_POINT(alloc)) {
        errno = ENOMEM;
        return NULL;
    }
    return calloc(count ? count : 1, size); /* NULL: there is no memory */
}

static inline void *mgds_realloc(void *old, size_t size)
{
    if (MGDS_FAULT_POINT(alloc)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, size);
}

/* The first length bytes of text, terminated. */
static inline char *mgds_strndup(const char *text, size_t length)
{
    char *copy = (char *)mgds_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

static inline char *mgds_strdup(const char *text)
{
    return mgds_strndup(text, strlen(text));
}

#endif
