/*
 * Memory of programs that the two ends of a channel have of each other: each
 * end keeps a list of what it has told the other one, and one of what it was
 * told.
 *
 *   ours     TOLD -> READY (the other end has mapped it), or REFUSED, or BUSY:
 *            not now, it may be told again
 *   theirs   TOLD -> READY (import is set), or REFUSED
 *
 * Pure lists, under the engine's lock. What was found last is looked at first:
 * a program sends from the same few buffers.
 */
#ifndef MGDS_PROTO_MAPPING_H
#define MGDS_PROTO_MAPPING_H

#include <stdint.h>

#include "shim/gds/mem/export.h"
#include "shim/gds/mem/import.h"

enum mgds_mapping_state {
    MGDS_MAPPING_TOLD,
    MGDS_MAPPING_READY,
    MGDS_MAPPING_REFUSED,
    MGDS_MAPPING_BUSY,
};

struct mgds_mapping {
    struct mgds_mapping *next;
    uint64_t id; /* of the allocation, in its process */
    enum mgds_mapping_state state;
    uint64_t since; /* when it was told, or was BUSY, ns */
    struct mgds_export_handle handle;
    struct mgds_import *import; /* theirs: a reference */
};

struct mgds_mappings {
    struct mgds_mapping *first;
    uint64_t stale; /* ours: what mgds_exports_stale was when all were looked
                       at */
};

/* NULL: not there. */
struct mgds_mapping *mgds_mapping_find(struct mgds_mappings *list, uint64_t id);

/* A new one, TOLD. NULL: no memory. */
struct mgds_mapping *mgds_mapping_add(struct mgds_mappings *list,
                                      const struct mgds_export_handle *handle);

/* Takes it out, and frees it. */
void mgds_mapping_drop(struct mgds_mappings *list, struct mgds_mapping *item);
void mgds_mappings_clear(struct mgds_mappings *list);

#endif
