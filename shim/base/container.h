/* From a member of a struct to the struct. */
#ifndef MGDS_BASE_CONTAINER_H
#define MGDS_BASE_CONTAINER_H

#include <stddef.h>

/* The struct of the type in which that is the member that pointer points to. */
#define MGDS_CONTAINER_OF(pointer, type, member)                               \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
