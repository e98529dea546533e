/* The table behind cookies; see cookies.h. */
#include "shim/gds/domain/cookies.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/base/random.h"

enum { FIRST_ROOM = 128 };

#define MOST_ROOM (UINT32_C(1) << 31)

static uint32_t next_of(const struct mgds_cookies *cookies, uint32_t at)
{
    return (at + 1) & (cookies->room - 1);
}

static uint32_t home_of(const struct mgds_cookies *cookies, uint64_t cookie)
{
    return (uint32_t)cookie & (cookies->room - 1);
}

/* Where the cookie is, or the free entry where it would be. Some are free. */
static uint32_t place_of(const struct mgds_cookies *cookies, uint64_t cookie)
{
    uint32_t at = home_of(cookies, cookie);

    while (cookies->entry[at].cookie != 0 &&
           cookies->entry[at].cookie != cookie)
        at = next_of(cookies, at);
    return at;
}

static int grow(struct mgds_cookies *cookies)
{
    const struct mgds_cookies old = *cookies;
    uint32_t room = old.room ? 2 * old.room : FIRST_ROOM;
    struct mgds_cookie_entry *entry;

    if (room > MOST_ROOM)
        return -ENOMEM;
    entry = (struct mgds_cookie_entry *)mgds_calloc(room, sizeof(*entry));
    if (!entry)
        return -ENOMEM;
    cookies->entry = entry;
    cookies->room = room;
    for (uint32_t i = 0; i < old.room; i++)
        if (old.entry[i].cookie != 0)
            entry[place_of(cookies, old.entry[i].cookie)] = old.entry[i];
    free(old.entry);
    return 0;
}

static int make_ready(struct mgds_cookies *cookies)
{
    int rc = 0;

    if (cookies->room == 0) {
        cookies->serial = MGDS_COUNT_FROM;
        rc = mgds_random(&cookies->key, sizeof(cookies->key));
    }
    if (rc == 0 && cookies->count >= cookies->room / 2)
        rc = grow(cookies);
    return rc;
}

/* The next one that is not in the table. */
static uint64_t draw(struct mgds_cookies *cookies)
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
    *cookie = draw(cookies);
    cookies->entry[place_of(cookies, *cookie)] =
        (struct mgds_cookie_entry){*cookie, record};
    cookies->count++;
    return 0;
}

void *mgds_cookies_find(const struct mgds_cookies *cookies, uint64_t cookie)
{
    if (cookies->room == 0 || cookie == 0)
        return NULL;
    return cookies->entry[place_of(cookies, cookie)].record;
}

/* No search passes by `gap` on its way from home to at. */
static bool may_stay(uint32_t home, uint32_t gap, uint32_t at)
{
    if (gap <= at)
        return gap < home && home <= at;
    return gap < home || home <= at;
}

/* Later entries move up, so that searches need no marks of what was there. */
static void close_gap(struct mgds_cookies *cookies, uint32_t gap)
{
    struct mgds_cookie_entry *entry = cookies->entry;
    uint32_t at = next_of(cookies, gap);

    for (; entry[at].cookie != 0; at = next_of(cookies, at)) {
        if (may_stay(home_of(cookies, entry[at].cookie), gap, at))
            continue;
        entry[gap] = entry[at];
        gap = at;
    }
    entry[gap] = (struct mgds_cookie_entry){.cookie = 0};
}

void mgds_cookies_remove(struct mgds_cookies *cookies, uint64_t cookie,
                         const void *record)
{
    if (!record || mgds_cookies_find(cookies, cookie) != record)
        return;
    close_gap(cookies, place_of(cookies, cookie));
    cookies->count--;
}

void mgds_cookies_fini(struct mgds_cookies *cookies)
{
    free(cookies->entry);
    explicit_bzero(cookies, sizeof(*cookies));
}
