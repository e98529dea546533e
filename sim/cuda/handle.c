/* Which pointers are live handles: an open hash, so that a stale or foreign
 * handle is an error and never a crash. */
#include <stdlib.h>

#include "sim/cuda/state.h"

struct entry {
    const void *object;
    enum mgds_handle_kind kind;
};

static struct table {
    struct entry *entries;
    size_t size, used, live; /* used counts removed entries too */
} table;

/* Marks an entry that was removed: probing goes on past it. */
static const char removed;

static size_t slot_of(const void *object, size_t size)
{
    uint64_t h = (uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15u;

    return (size_t)(h >> 20) & (size - 1);
}

static struct entry *find(const void *object)
{
    size_t i;

    if (table.size == 0)
        return NULL;
    for (i = slot_of(object, table.size); table.entries[i].object;
         i = (i + 1) & (table.size - 1)) {
        if (table.entries[i].object == object)
            return &table.entries[i];
    }
    return NULL;
}

static void insert(enum mgds_handle_kind kind, const void *object)
{
    size_t i = slot_of(object, table.size);

    while (table.entries[i].object)
        i = (i + 1) & (table.size - 1);
    table.entries[i] = (struct entry){object, kind};
    table.used++;
    table.live++;
}

/* Removed entries go too: with few live ones the table is only cleaned. */
static void grow(void)
{
    struct table old = table;

    table.size = old.live * 4 >= old.size ? old.size * 2 : old.size;
    if (table.size == 0)
        table.size = 256;
    table.used = table.live = 0;
    table.entries = mgds_gpu_calloc(table.size, sizeof(*table.entries));
    for (size_t i = 0; i < old.size; i++) {
        const void *object = old.entries[i].object;

        if (object && object != &removed)
            insert(old.entries[i].kind, object);
    }
    free(old.entries);
}

void mgds_handle_add(enum mgds_handle_kind kind, const void *object)
{
    if (table.used * 2 >= table.size)
        grow();
    insert(kind, object);
}

void mgds_handle_drop(const void *object)
{
    struct entry *entry = find(object);

    if (!entry)
        return;
    *entry = (struct entry){&removed, MGDS_HANDLE_NONE};
    table.live--;
}

bool mgds_handle_is(enum mgds_handle_kind kind, const void *object)
{
    struct entry *entry = object ? find(object) : NULL;

    return entry && entry->kind == kind;
}
