/*
 * Records by numbers of 64 bits that are as good as random: cookies, ids. Open
 * addressing by the low bits, at most half full; what goes leaves no mark, so
 * searches stay short however often records come and go.
 *
 * Pure, of one owner's lock. Each call costs some nanoseconds; memory for twice
 * as many entries as were in at once.
 */
#ifndef MGDS_BASE_HASH_H
#define MGDS_BASE_HASH_H

#include <stdint.h>

/* All 0: empty. */
struct mgds_hash {
    struct mgds_hash_entry {
        uint64_t key; /* 0: the entry is free */
        void *value;
    } * entry;
    uint32_t room; /* a power of two, or 0 */
    uint32_t count;
};

/* Puts a value in, which is not NULL; one that was there goes. key: not 0.
 * -ENOMEM: nothing has changed. */
int mgds_hash_put(struct mgds_hash *hash, uint64_t key, void *value);

/* The value, or NULL. */
void *mgds_hash_find(const struct mgds_hash *hash, uint64_t key);

/* If it is in. */
void mgds_hash_remove(struct mgds_hash *hash, uint64_t key);

/* Empty again. */
void mgds_hash_fini(struct mgds_hash *hash);

#endif
