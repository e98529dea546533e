/* References to layouts, and their end; see layout.h. */
#include "shim/gds/mem/layout.h"

#include <stdlib.h>

#include "shim/gds/mem/table.h"

void mgds_layout_count(struct mgds_layout *layout)
{
    __atomic_fetch_add(&layout->refs, 1, __ATOMIC_RELAXED);
}

void mgds_parts_destroy(struct mgds_part *part, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mgds_layout_put(part[i].layout);
    free(part);
}

static void destroy_layout(struct mgds_layout *layout)
{
    if (layout->kind == MGDS_LAYOUT_LIST && !layout->child)
        mgds_parts_destroy(layout->part, layout->count);
    mgds_layout_put(layout->child);
    mgds_table_destroy(layout->table);
    free(layout);
}

void mgds_layout_count_less(struct mgds_layout *layout)
{
    if (__atomic_sub_fetch(&layout->refs, 1, __ATOMIC_ACQ_REL) == 0)
        destroy_layout(layout);
}
