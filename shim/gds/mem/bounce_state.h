/* What is behind a bounce buffer, for the files of this folder and for those
 * that put its copies on streams. */
#ifndef MGDS_MEM_BOUNCE_STATE_H
#define MGDS_MEM_BOUNCE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/ptr.h"
#include "shim/gds/mem/bounce.h"
#include "shim/gds/mem/copyqueue.h"
#include "shim/gds/mem/pool.h"

/* How a buffer is copied: decided once, when it is staged. */
enum mgds_way {
    MGDS_WAY_COPIES, /* few spans, a driver copy each */
    MGDS_WAY_KERNEL, /* one launch */
    MGDS_WAY_SPLIT,  /* a copy for each span: no kernel could be used */
};

struct mgds_bounce {
    struct mgds_copyqueue *queue; /* a reference */
    struct mgds_copy_ticket ticket;

    /* bytes are staged at user + offset and base + offset (mgds_offset_from) */
    char *user;
    char *base;
    struct mgds_piece *piece;
    struct mgds_ptr ptr;
    enum mgds_bounce_form form;
    enum mgds_way way;
    struct mgds_layout *layout; /* of all elements: flat, or a reference */
    struct mgds_layout flat;
    const void *table; /* KERNEL: nodes, in the piece */
    size_t nodes, grain;
};

/* The address so many bytes away. Offsets may be absolute addresses, and then
 * the address that they are counted from lies anywhere, outside of all memory,
 * too: C knows no such pointers, integers wrap. */
static inline char *mgds_offset_from(const char *from, ptrdiff_t bytes)
{
    return (char *)((uintptr_t)from + (uintptr_t)bytes);
}

#endif
