/* Sorted array of ranges; a program has thousands of buffers, not millions. */
#include "sim/cuda/range.h"

#include <string.h>

#include "sim/cuda/state.h"

size_t mgds_range_lower(const struct mgds_range_map *map, uintptr_t addr)
{
    size_t low = 0, high = map->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (map->rows[middle].start < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct mgds_range *mgds_range_find(const struct mgds_range_map *map,
                                   uintptr_t addr)
{
    size_t i = mgds_range_lower(map, addr);
    struct mgds_range *row;

    if (i < map->count && map->rows[i].start == addr)
        return &map->rows[i];
    if (i == 0)
        return NULL;
    row = &map->rows[i - 1];
    return addr - row->start < row->size ? row : NULL;
}

int mgds_range_overlaps(const struct mgds_range_map *map, uintptr_t start,
                        size_t size)
{
    size_t i = mgds_range_lower(map, start);

    /* unsigned differences: a range up to the end of the address space does
     * not wrap */
    if (i < map->count && map->rows[i].start - start < size)
        return 1;
    return i > 0 && start - map->rows[i - 1].start < map->rows[i - 1].size;
}

void mgds_range_add(struct mgds_range_map *map, uintptr_t start, size_t size,
                    void *value)
{
    size_t i = mgds_range_lower(map, start);

    map->rows = mgds_gpu_grow(map->rows, map->count + 1, &map->capacity,
                              sizeof(*map->rows));
    memmove(&map->rows[i + 1], &map->rows[i],
            (map->count - i) * sizeof(*map->rows));
    map->rows[i] = (struct mgds_range){start, size, value};
    map->count++;
}

void mgds_range_remove(struct mgds_range_map *map, uintptr_t start)
{
    size_t i = mgds_range_lower(map, start);

    if (i == map->count || map->rows[i].start != start)
        return;
    map->count--;
    memmove(&map->rows[i], &map->rows[i + 1],
            (map->count - i) * sizeof(*map->rows));
}
