/* Memory keys: making them, and finding what they mean. */
#include "sim/hca/key.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/hca/engine.h"

/* Index 1 is that of the key which means none (MGDS_WQE_INVALID_LKEY). */
enum { FIRST_INDEX = 2, LAST_INDEX = (1 << 20) - 1, VARIANT_BITS = 8 };

struct key {
    uint32_t number;
    struct mgds_hca_memory memory;
};

static bool is_valid_memory(const struct mgds_hca_memory *memory)
{
    const uint8_t written = MGDS_HCA_REMOTE_WRITE | MGDS_HCA_REMOTE_ATOMIC;

    return memory->address + memory->bytes >= memory->address &&
           (!(memory->access & written) ||
            memory->access & MGDS_HCA_LOCAL_WRITE);
}

int mgds_hca_key_attach(struct mgds_hca *hca,
                        const struct mgds_hca_memory *memory, uint32_t *number)
{
    struct key *key;
    uint32_t index;

    if (!is_valid_memory(memory))
        return -EINVAL;
    key = malloc(sizeof(*key));
    if (!key)
        return -ENOMEM;
    index = mgds_hca_table_add(&hca->keys, key, FIRST_INDEX, LAST_INDEX);
    if (index == 0) {
        free(key);
        return -ENOMEM;
    }
    key->memory = *memory;
    key->number = index << VARIANT_BITS | (++hca->variant & 0xff);
    *number = key->number;
    return 0;
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

    if (!key)
        return -ENOENT;
    if (!is_valid_memory(memory))
        return -EINVAL;
    key->memory = *memory;
    return 0;
}

int mgds_hca_key_detach(struct mgds_hca *hca, uint32_t number)
{
    struct key *key = find_key(hca, number);

    if (!key)
        return -ENOENT;
    mgds_hca_table_drop(&hca->keys, number >> VARIANT_BITS);
    free(key);
    return 0;
}

enum mgds_hca_fault mgds_hca_key_find(const struct mgds_hca *hca,
                                      const struct mgds_hca_span *span,
                                      void **at)
{
    const struct key *key = find_key(hca, span->key);
    const struct mgds_hca_memory *memory;
    uint64_t offset;

    if (!key)
        return MGDS_FAULT_KEY;
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
