/* The table behind request IDs; see request_ids.h. */
#include "shim/gds/msg/request_ids.h"

#include <stddef.h>
#include <string.h>

#include "shim/base/random.h"

/* Nothing was ever put in while the table has no room. */
static int make_ready(struct mgds_request_ids *request_ids)
{
    if (request_ids->records.room != 0)
        return 0;
    return mgds_random(&request_ids->serial, sizeof(request_ids->serial));
}

/* A permutation: a bit more or less of the serial changes half of all bits (the
 * last steps of SplitMix64: Steele, Lea and Flood, "Fast splittable
 * pseudorandom number generators", 2014). */
static uint64_t spread_bits(uint64_t serial)
{
    serial = (serial ^ serial >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    serial = (serial ^ serial >> 27) * UINT64_C(0x94d049bb133111eb);
    return serial ^ serial >> 31;
}

/* 0 stands for itself alone. */
static uint64_t draw_request_id(struct mgds_request_ids *request_ids)
{
    if (++request_ids->serial == 0)
        request_ids->serial++;
    return spread_bits(request_ids->serial);
}

int mgds_request_ids_put(struct mgds_request_ids *request_ids, void *record,
                         uint64_t *request_id)
{
    int rc = make_ready(request_ids);

    if (rc < 0)
        return rc;
    *request_id = draw_request_id(request_ids);
    return mgds_hash_put(&request_ids->records, *request_id, record);
}

void *mgds_request_ids_find(const struct mgds_request_ids *request_ids,
                            uint64_t request_id)
{
    return mgds_hash_find(&request_ids->records, request_id);
}

void mgds_request_ids_remove(struct mgds_request_ids *request_ids,
                             uint64_t request_id, const void *record)
{
    if (record && mgds_request_ids_find(request_ids, request_id) == record)
        mgds_hash_remove(&request_ids->records, request_id);
}

void mgds_request_ids_fini(struct mgds_request_ids *request_ids)
{
    mgds_hash_fini(&request_ids->records);
    explicit_bzero(request_ids, sizeof(*request_ids));
}
