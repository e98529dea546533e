/* A list of parts while it is put together, for layout.c: spans that touch
 * join as they come, regular ones when the list is finished. */
#ifndef MGDS_MEM_LIST_H
#define MGDS_MEM_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/gds/mem/layout.h"

struct mgds_list {
    struct mgds_part *part;
    size_t count, room;
    size_t spans; /* once finished */
};

/* Lists up to so many parts go into the list that they are a part of: joins
 * are found across them, and memory stays in proportion. */
#define MGDS_LIST_SHORT 4

/* Appends a layout at an offset. -ENOMEM, -EOVERFLOW: some of it may have been
 * appended. */
int mgds_list_add(struct mgds_list *list, struct mgds_layout *layout,
                  ptrdiff_t offset);

/* Joins what is regular and numbers the bytes. The bytes fit a size_t. */
void mgds_list_finish(struct mgds_list *list);

void mgds_list_fini(struct mgds_list *list);

/* Puts count of a span, a stride apart, into one. False: that would take a
 * fourth dimension. The bytes fit a size_t. */
bool mgds_span_repeat(struct mgds_span *span, size_t count, ptrdiff_t stride);

#endif
