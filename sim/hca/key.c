/* Memory keys: making them, and finding what they mean. */
#include "sim/hca/key.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/transit.h"
#include "sim/hca/window.h"

/* Index 1 is that of the key which means none (MGDS_WQE_INVALID_LKEY). */
enum { FIRST_INDEX = 2, LAST_INDEX = (1 << 20) - 1, VARIANT_BITS = 8 };

struct key {
    uint32_t number;
    struct mgds_hca_memory memory;
    struct mgds_hca_window window; /* or what this is */
};

static bool is_valid_memory(const struct mgds_hca_memory *memory)
{
    const uint8_t written = MGDS_HCA_REMOTE_WRITE | MGDS_HCA_REMOTE_ATOMIC;

    return memory->address + memory->bytes >= memory->address &&
           (!(memory->access & written) ||
            memory->access & MGDS_HCA_LOCAL_WRITE);
}

static int attach(struct mgds_hca *hca, const struct key *what,
                  uint32_t *number)
{
    struct key *key = malloc(sizeof(*key));
    uint32_t index;

    if (!key)
        return -ENOMEM;
    index = mgds_hca_table_add(&hca->keys, key, FIRST_INDEX, LAST_INDEX);
    if (index == 0) {
        free(key);
        return -ENOMEM;
    }
    *key = *what;
    key->number = index << VARIANT_BITS | (++hca->variant & 0xff);
    *number = key->number;
    return 0;
}

int mgds_hca_key_attach(struct mgds_hca *hca,
                        const struct mgds_hca_memory *memory, uint32_t *number)
{
    struct key key = {.memory = *memory};

    return is_valid_memory(memory) ? attach(hca, &key, number) : -EINVAL;
}

int mgds_hca_key_attach_window(struct mgds_hca *hca, uint32_t pd, unsigned type,
                               uint32_t *number)
{
    struct key key = {
        .window = {.type = (enum mgds_hca_window_type)type, .pd = pd}};

    return attach(hca, &key, number);
}

struct mgds_hca_window *mgds_hca_key_window(const struct mgds_hca *hca,
                                            uint32_t number, uint32_t **current)
{
    struct key *key = mgds_hca_table_find(&hca->keys, number >> VARIANT_BITS);

    if (!key || key->window.type == MGDS_WINDOW_NONE)
        return NULL;
    *current = &key->number;
    return &key->window;
}

static struct key *find_key(const struct mgds_hca *hca, uint32_t number)
{
    struct key *key = mgds_hca_table_find(&hca->keys, number >> VARIANT_BITS);

    return key && key->number == number ? key : NULL;
}

int mgds_hca_key_change(struct mgds_hca *hca, uint32_t number,
                        const struct mgds_hca_memory *memory)
{
    struct key *key = find_key(hca, number);

    if (!key || key->window.type)
        return -ENOENT;
    if (!is_valid_memory(memory))
        return -EINVAL;
    mgds_hca_transit_land(hca);
    key->memory = *memory;
    return 0;
}

int mgds_hca_key_detach(struct mgds_hca *hca, uint32_t number)
{
    struct key *key = mgds_hca_table_find(&hca->keys, number >> VARIANT_BITS);

    if (!key || (key->number != number && !key->window.type))
        return -ENOENT;
    mgds_hca_transit_land(hca);
    mgds_hca_table_drop(&hca->keys, number >> VARIANT_BITS);
    free(key);
    return 0;
}

bool mgds_hca_key_reaches(const struct mgds_hca *hca, const void *at)
{
    const struct key *key;

    for (uint32_t i = FIRST_INDEX; i < hca->keys.slots; i++) {
        key = mgds_hca_table_find(&hca->keys, i);
        if (key &&
            (uintptr_t)at - (uintptr_t)key->memory.at < key->memory.bytes)
            return true;
    }
    return false;
}

static bool is_gone(const struct mgds_hca_memory *memory)
{
    return memory->gone && __atomic_load_n(memory->gone, __ATOMIC_ACQUIRE);
}

enum mgds_hca_fault mgds_hca_key_find(const struct mgds_hca *hca,
                                      const struct mgds_hca_span *span,
                                      void **at)
{
    const struct key *key = find_key(hca, span->key);
    const struct mgds_hca_memory *memory;
    uint64_t offset;

    if (!key || is_gone(&key->memory))
        return MGDS_FAULT_KEY;
    if (key->window.type)
        return mgds_hca_window_find(hca, &key->window, span, at);
    memory = &key->memory;
    if (memory->pd != span->pd)
        return MGDS_FAULT_PD;
    offset = span->address - memory->address; /* wraps in front of it */
    if (offset > memory->bytes || span->bytes > memory->bytes - offset)
        return MGDS_FAULT_BOUNDS;
    if (span->access & ~memory->access)
        return MGDS_FAULT_ACCESS;
    *at = (uint8_t *)memory->at + offset;
    return MGDS_FAULT_NONE;
}
