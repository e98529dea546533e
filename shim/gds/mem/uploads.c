/* How a context uploads little; see uploads.h. */
#include "shim/gds/mem/uploads.h"

enum { LONG_NS = 60000, ENOUGH = 2, ROWS_NS = 1000000000 };

bool mgds_uploads_use_rows(const struct mgds_uploads *uploads, size_t bytes,
                           uint64_t now)
{
    return bytes <= MGDS_UPLOADS_SMALL &&
           now < __atomic_load_n(&uploads->rows_until, __ATOMIC_RELAXED);
}

/* The upload that is tried after a second counts as the second one. */
static void count_slow(struct mgds_uploads *uploads, uint64_t now)
{
    if (__atomic_add_fetch(&uploads->slow, 1, __ATOMIC_RELAXED) < ENOUGH)
        return;
    __atomic_store_n(&uploads->slow, ENOUGH - 1, __ATOMIC_RELAXED);
    __atomic_store_n(&uploads->rows_until, now + ROWS_NS, __ATOMIC_RELAXED);
}

void mgds_uploads_observe(struct mgds_uploads *uploads, uint64_t *since,
                          bool over, uint64_t now)
{
    bool late;

    if (*since == 0)
        return;
    late = now - *since > LONG_NS;
    if (late && !over)
        count_slow(uploads, now);
    else if (!late && over)
        __atomic_store_n(&uploads->slow, 0, __ATOMIC_RELAXED);
    if (late || over)
        *since = 0;
}
