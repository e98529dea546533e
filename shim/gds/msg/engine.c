/* The engine's lock; see engine.h. */
#include "shim/gds/msg/engine.h"

#include <stddef.h>

struct mgds_lock mgds_engine_lock = MGDS_LOCK_INIT(MGDS_LOCK_COMM);
static struct mgds_ending *endings; /* under the lock */

void mgds_engine_enter(void)
{
    mgds_lock_acquire(&mgds_engine_lock);
}

int mgds_engine_try(void)
{
    return mgds_lock_try(&mgds_engine_lock);
}

void mgds_engine_end_later(struct mgds_ending *ending)
{
    ending->next = endings;
    endings = ending;
}

void mgds_engine_leave(void)
{
    struct mgds_ending *ending = endings;

    endings = NULL;
    mgds_lock_release(&mgds_engine_lock);
    while (ending) {
        struct mgds_ending *next = ending->next;

        ending->end(ending);
        ending = next;
    }
}
