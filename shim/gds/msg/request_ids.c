/* The table behind cookies; see request_ids.h. */
#include "shim/gds/msg/request_ids.h"

#include <stddef.h>
#include <string.h>

#include "shim/base/fault.h"
#include "shim/base/random.h"

/* Nothing was ever put in while the table has no room. */
static int make_ready(struct mgds_cookies *cookies)
{
    if (cookies->records.room != 0)
        return 0;
    cookies->serial = MGDS_COUNT_FROM;
    return mgds_random(&cookies->key, sizeof(cookies->key));
}

/* The next one that is not in the table. */
static uint64_t draw_cookie(struct mgds_cookies *cookies)
{
    uint64_t cookie;

    do {
        cookies->serial++;
        cookie = mgds_siphash(&cookies->key, &cookies->serial,
                              sizeof(cookies->serial));
    } while (cookie == 0 || mgds_cookies_find(cookies, cookie));
    return cookie;
}

int mgds_cookies_put(struct mgds_cookies *cookies, void *record,
                     uint64_t *cookie)
{
    int rc = make_ready(cookies);

    if (rc < 0)
        return rc;
    *cookie = draw_cookie(cookies);
    return mgds_hash_put(&cookies->records, *cookie, record);
}

void *mgds_cookies_find(const struct mgds_cookies *cookies, uint64_t cookie)
{
    return mgds_hash_find(&cookies->records, cookie);
}

void mgds_cookies_remove(struct mgds_cookies *cookies, uint64_t cookie,
                         const void *record)
{
    if (record && mgds_cookies_find(cookies, cookie) == record)
        mgds_hash_remove(&cookies->records, cookie);
}

void mgds_cookies_fini(struct mgds_cookies *cookies)
{
    mgds_hash_fini(&cookies->records);
    explicit_bzero(cookies, sizeof(*cookies));
}
