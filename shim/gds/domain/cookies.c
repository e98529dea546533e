/* The table behind cookies; see cookies.h. */
#include "shim/gds/domain/cookies.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "shim/base/alloc.h"

enum { FIRST_COUNT = 64 };

#define GENERATION_SHIFT 32
#define MOST_COUNT (UINT32_MAX / 2)

/* The new ones are free, the lowest first. */
static int grow(struct mgds_cookies *cookies)
{
    uint32_t count = cookies->count ? 2 * cookies->count : FIRST_COUNT;
    struct mgds_cookie_entry *entry;

    if (count > MOST_COUNT)
        return -ENOMEM;
    entry = (struct mgds_cookie_entry *)mgds_realloc(
        cookies->entry, (size_t)count * sizeof(*entry));
    if (!entry)
        return -ENOMEM;
    for (uint32_t i = cookies->count; i < count; i++)
        entry[i] = (struct mgds_cookie_entry){.next = i + 2};
    entry[count - 1].next = cookies->free;
    cookies->free = cookies->count + 1;
    cookies->entry = entry;
    cookies->count = count;
    return 0;
}

int mgds_cookies_put(struct mgds_cookies *cookies, void *record,
                     uint64_t *cookie)
{
    struct mgds_cookie_entry *entry;
    int rc = cookies->free ? 0 : grow(cookies);

    if (rc < 0)
        return rc;
    entry = &cookies->entry[cookies->free - 1];
    *cookie = (uint64_t)entry->generation << GENERATION_SHIFT | cookies->free;
    cookies->free = entry->next;
    entry->record = record;
    return 0;
}

/* NULL: it is none of this table, or of an earlier use of the entry. */
static struct mgds_cookie_entry *entry_of(const struct mgds_cookies *cookies,
                                          uint64_t cookie)
{
    uint32_t index = (uint32_t)cookie - 1; /* of 0: beyond all */
    struct mgds_cookie_entry *entry;

    if (index >= cookies->count)
        return NULL;
    entry = &cookies->entry[index];
    return entry->generation == cookie >> GENERATION_SHIFT ? entry : NULL;
}

void *mgds_cookies_find(const struct mgds_cookies *cookies, uint64_t cookie)
{
    const struct mgds_cookie_entry *entry = entry_of(cookies, cookie);

    return entry ? entry->record : NULL;
}

void mgds_cookies_remove(struct mgds_cookies *cookies, uint64_t cookie,
                         const void *record)
{
    struct mgds_cookie_entry *entry = entry_of(cookies, cookie);

    if (!entry || entry->record != record || !record)
        return;
    entry->record = NULL;
    entry->generation++;
    entry->next = cookies->free;
    cookies->free = (uint32_t)cookie;
}

void mgds_cookies_fini(struct mgds_cookies *cookies)
{
    free(cookies->entry);
    *cookies = (struct mgds_cookies){.entry = NULL};
}
