/* The table behind request IDs; see request_ids.h. */
#include "shim/gds/msg/request_ids.h"

#include <stddef.h>
#include <string.h>

#include "shim/base/fault.h"
#include "shim/base/random.h"

/* Nothing was ever put in while the table has no room. */
static int make_ready(struct mgds_request_ids *request_ids)
{
    if (request_ids->records.room != 0)
        return 0;
    request_ids->serial = MGDS_COUNT_FROM;
    return mgds_random(&request_ids->key, sizeof(request_ids->key));
}

/* The next one that is not in the table. */
static uint64_t draw_request_id(struct mgds_request_ids *request_ids)
{
    uint64_t request_id;

    do {
        request_ids->serial++;
        request_id = mgds_siphash(&request_ids->key, &request_ids->serial,
                                  sizeof(request_ids->serial));
    } while (request_id == 0 || mgds_request_ids_find(request_ids, request_id));
    return request_id;
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
