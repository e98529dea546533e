/* Whether small uploads wait for the GPU's turn; see turns.h. */
#include "shim/gds/stage/turns.h"

enum { LONG_NS = 60000, ENOUGH = 2, ROWS_NS = 1000000000 };

bool mgds_turns_in_rows(const struct mgds_turns *turns, size_t bytes,
                        uint64_t now)
{
    return bytes <= MGDS_TURNS_SMALL &&
           now < __atomic_load_n(&turns->until, __ATOMIC_RELAXED);
}

/* The one that is tried after a second counts as the second one. */
static void was_slow(struct mgds_turns *turns, uint64_t now)
{
    if (__atomic_add_fetch(&turns->slow, 1, __ATOMIC_RELAXED) < ENOUGH)
        return;
    __atomic_store_n(&turns->slow, ENOUGH - 1, __ATOMIC_RELAXED);
    __atomic_store_n(&turns->until, now + ROWS_NS, __ATOMIC_RELAXED);
}

void mgds_turns_look(struct mgds_turns *turns, uint64_t *since, bool over,
                     uint64_t now)
{
    bool late;

    if (*since == 0)
        return;
    late = now - *since > LONG_NS;
    if (late && !over)
        was_slow(turns, now);
    else if (!late && over)
        __atomic_store_n(&turns->slow, 0, __ATOMIC_RELAXED);
    if (late || over)
        *since = 0;
}
