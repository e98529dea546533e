/* What the host tells the pack kernel: where the bytes of a datatype lie. C and
 * C++, same layout on both sides. */
#ifndef MGDS_DEVICE_PACK_ABI_H
#define MGDS_DEVICE_PACK_ABI_H

#include "device/abi.h"

enum mgds_pack_kind {
    MGDS_PACK_SPAN = 1, /* planes of rows of width bytes */
    MGDS_PACK_REPEAT,   /* the node at link, width bytes of it each time, again
                           and again, a pitch apart */
    MGDS_PACK_LIST,     /* one of the `rows` nodes from link on */
};

/* A layout is a graph of nodes. link is counted in nodes from the one that has
 * it, so that a table may lie behind others. */
struct mgds_pack_node {
    int64_t offset;  /* of the bytes from where the parent puts it */
    uint64_t before; /* packed bytes ahead of it in its list */
    uint64_t width;
    uint64_t rows;
    int64_t pitch;
    int64_t slice;
    int64_t link;
    uint32_t kind;
    uint32_t reserved;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_pack_node) == 64, "eight words");

/* mgds_pack_kernel: any number of blocks. Copies packed bytes
 * [first, first + bytes) between user, where node 0 says, and bounce, in a row
 * from packed byte 0 on (or, if mirror, at the same offsets). Addresses,
 * offsets, first and bytes are multiples of unit: 1, 4, 8 or 16. limit as in
 * struct mgds_copy_args, counted from packed byte 0; any number. */
struct mgds_pack_args {
    uint64_t user;
    uint64_t bounce;
    uint64_t table;
    uint64_t nodes;
    uint64_t first;
    uint64_t bytes;
    uint32_t unit;
    uint32_t up; /* from bounce to user */
    uint32_t mirror;
    uint32_t reserved;
    uint64_t limit;
};
MGDS_STATIC_ASSERT(sizeof(struct mgds_pack_args) == 72, "nine words");

#endif
