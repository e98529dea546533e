/* A layout as the pack kernel reads it: nodes, device/kernels/pack_abi.h. */
#ifndef MGDS_MEM_TABLE_H
#define MGDS_MEM_TABLE_H

#include <stddef.h>

#include "device/kernels/pack_abi.h"
#include "shim/gds/mem/layout.h"

struct mgds_table {
    size_t nodes;
    uint64_t grain; /* what all offsets and widths are multiples of, as bits:
                       the lowest one that is set counts */
    struct mgds_pack_node node[];
};

/* The table of a layout with bytes: made when first asked for, stays with the
 * layout, and is in proportion to it. Any thread. -ENOMEM. */
int mgds_table_of(const struct mgds_table **out, struct mgds_layout *layout);

/* For layout.c; NULL is allowed. */
void mgds_table_destroy(struct mgds_table *table);

/* Writes the nodes for count elements, one more than the table has. */
void mgds_table_write(struct mgds_pack_node *to, const struct mgds_table *table,
                      const struct mgds_layout *layout, size_t count);

#endif
