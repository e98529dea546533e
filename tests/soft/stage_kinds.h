/* Layouts of every kind that tests of staging go through. */
#ifndef MGDS_TEST_STAGE_KINDS_H
#define MGDS_TEST_STAGE_KINDS_H

#include <stddef.h>

#include "shim/gds/mem/layout.h"

/* Members of a layout never overlap here: they are written too. Layouts, and
 * what one whole copy of their count takes with kernels and
 * without. */
struct stage_kind {
    const char *name;
    struct mgds_layout *(*make)(void);
    size_t count;
    unsigned copies, launches;
    unsigned alone; /* copies without kernels */
};

enum { STAGE_KINDS = 15 };
extern const struct stage_kind stage_kinds[STAGE_KINDS];

/* Where each packed byte of count elements lies, from the buffer's address; the
 * caller frees it. */
ptrdiff_t *stage_map_of(struct mgds_layout *layout, size_t count);

#endif
