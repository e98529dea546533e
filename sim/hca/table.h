/* Numbers for objects: an index, from 1 on, in an array that grows. */
#ifndef MGDS_SIM_HCA_TABLE_H
#define MGDS_SIM_HCA_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct mgds_hca_table {
    void **slot;
    uint32_t slots;
    uint32_t last; /* the number given last: numbers come back late */
};

/* All zero is an empty table. Frees the array, not the objects. */
void mgds_hca_table_fini(struct mgds_hca_table *table);

/* A number that no object has, in `first` <= number <= `last`; it is the
 * object's. 0: none is left, or no memory. */
uint32_t mgds_hca_table_add(struct mgds_hca_table *table, void *object,
                            uint32_t first, uint32_t last);

void mgds_hca_table_drop(struct mgds_hca_table *table, uint32_t number);

/* NULL: no object has that number, which may be any. */
static inline void *mgds_hca_table_find(const struct mgds_hca_table *table,
                                        uint32_t number)
{
    return number < table->slots ? table->slot[number] : NULL;
}

#endif
