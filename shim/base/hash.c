/* Records by random numbers; see hash.h. */
#include "shim/base/hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "shim/base/alloc.h"

enum { FIRST_ROOM = 128 };

#define MOST_ROOM (UINT32_C(1) << 31)

static uint32_t next_of(const struct mgds_hash *hash, uint32_t at)
{
    return (at + 1) & (hash->room - 1);
}

static uint32_t home_of(const struct mgds_hash *hash, uint64_t key)
{
    return (uint32_t)key & (hash->room - 1);
}

/* Where the key is, or the free entry where it would be. Some are free. */
static struct mgds_hash_entry *place_of(const struct mgds_hash *hash,
                                        uint64_t key)
{
    uint32_t at = home_of(hash, key);

    while (hash->entry[at].key != 0 && hash->entry[at].key != key)
        at = next_of(hash, at);
    return &hash->entry[at];
}

static int grow(struct mgds_hash *hash)
{
    const struct mgds_hash old = *hash;
    uint32_t room = old.room ? 2 * old.room : FIRST_ROOM;
    struct mgds_hash_entry *entry;

    if (room > MOST_ROOM)
        return -ENOMEM;
    entry = (struct mgds_hash_entry *)mgds_calloc(room, sizeof(*entry));
    if (!entry)
        return -ENOMEM;
    hash->entry = entry;
    hash->room = room;
    for (uint32_t i = 0; i < old.room; i++)
        if (old.entry[i].key != 0)
            *place_of(hash, old.entry[i].key) = old.entry[i];
    free(old.entry);
    return 0;
}

int mgds_hash_put(struct mgds_hash *hash, uint64_t key, void *value)
{
    struct mgds_hash_entry *at;
    int rc = hash->count >= hash->room / 2 ? grow(hash) : 0;

    if (rc < 0)
        return rc;
    at = place_of(hash, key);
    hash->count += at->key == 0;
    *at = (struct mgds_hash_entry){key, value};
    return 0;
}

void *mgds_hash_find(const struct mgds_hash *hash, uint64_t key)
{
    if (hash->room == 0 || key == 0)
        return NULL;
    return place_of(hash, key)->value;
}

/* No search passes by `gap` on its way from home to at. */
static bool may_stay(uint32_t home, uint32_t gap, uint32_t at)
{
    if (gap <= at)
        return gap < home && home <= at;
    return gap < home || home <= at;
}

/* Later entries move up, so that searches need no marks of what was there. */
static void close_gap(struct mgds_hash *hash, uint32_t gap)
{
    struct mgds_hash_entry *entry = hash->entry;
    uint32_t at = next_of(hash, gap);

    for (; entry[at].key != 0; at = next_of(hash, at)) {
        if (may_stay(home_of(hash, entry[at].key), gap, at))
            continue;
        entry[gap] = entry[at];
        gap = at;
    }
    entry[gap] = (struct mgds_hash_entry){.key = 0};
}

void mgds_hash_remove(struct mgds_hash *hash, uint64_t key)
{
    if (!mgds_hash_find(hash, key))
        return;
    close_gap(hash, (uint32_t)(place_of(hash, key) - hash->entry));
    hash->count--;
}

void mgds_hash_fini(struct mgds_hash *hash)
{
    free(hash->entry);
    *hash = (struct mgds_hash){.entry = NULL};
}
