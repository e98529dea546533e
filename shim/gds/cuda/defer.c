/* The list of what is done later; see defer.h. */
#include "shim/gds/cuda/defer.h"

#include <stddef.h>

static struct mgds_deferred *head; /* atomic */

void mgds_defer(struct mgds_deferred *item)
{
    item->next = __atomic_load_n(&head, __ATOMIC_RELAXED);
    /* Release: the drain that takes it sees what the item is about. */
    while (!__atomic_compare_exchange_n(&head, &item->next, item, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

bool mgds_defer_pending(void)
{
    return __atomic_load_n(&head, __ATOMIC_RELAXED) != NULL;
}

/* The list, with what was put first in front. */
static struct mgds_deferred *take_all(void)
{
    struct mgds_deferred *item =
        __atomic_exchange_n(&head, NULL, __ATOMIC_ACQUIRE);
    struct mgds_deferred *first = NULL;

    while (item) {
        struct mgds_deferred *next = item->next;

        item->next = first;
        first = item;
        item = next;
    }
    return first;
}

unsigned mgds_defer_drain(void)
{
    struct mgds_deferred *item = take_all();
    unsigned count = 0;

    while (item) {
        struct mgds_deferred *next = item->next;

        item->run(item);
        item = next;
        count++;
    }
    return count;
}
