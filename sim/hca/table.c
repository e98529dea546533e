/* Numbers for objects, given in a circle. */
#include "sim/hca/table.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 16 };

void mgds_hca_table_fini(struct mgds_hca_table *table)
{
    free(table->slot);
    *table = (struct mgds_hca_table){.slots = 0};
}

/* Room for a number; 0 or -1. */
static int grow_table(struct mgds_hca_table *table, uint32_t number)
{
    uint32_t slots = table->slots ? table->slots : FIRST_SLOTS;
    void **slot;

    while (slots <= number)
        slots *= 2;
    slot = realloc(table->slot, slots * sizeof(*slot));
    if (!slot)
        return -1;
    for (uint32_t i = table->slots; i < slots; i++)
        slot[i] = NULL;
    table->slot = slot;
    table->slots = slots;
    return 0;
}

/* The number to try behind another one, in a circle. */
static uint32_t number_after(uint32_t number, uint32_t first, uint32_t last)
{
    return number < first || number >= last ? first : number + 1;
}

uint32_t mgds_hca_table_add(struct mgds_hca_table *table, void *object,
                            uint32_t first, uint32_t last)
{
    uint32_t number = number_after(table->last, first, last);

    for (uint32_t tries = last - first + 1; tries > 0; tries--) {
        if (!mgds_hca_table_find(table, number))
            break;
        number = number_after(number, first, last);
    }
    if (mgds_hca_table_find(table, number))
        return 0;
    if (number >= table->slots && grow_table(table, number) < 0)
        return 0;
    table->slot[number] = object;
    table->last = number;
    return number;
}

void mgds_hca_table_drop(struct mgds_hca_table *table, uint32_t number)
{
    table->slot[number] = NULL;
}
