/* Numbers of what is gone; see gone.h. */
#include "shim/gds/domain/gone.h"

#include <stdlib.h>

#include "shim/base/alloc.h"

enum { ROOM = 128 };

/* Its place, or the empty one that it would have. */
static uint64_t *place_of(uint64_t *ids, size_t room, uint64_t id)
{
    size_t at = id & (room - 1);

    while (ids[at] != 0 && ids[at] != id)
        at = (at + 1) & (room - 1);
    return &ids[at];
}

static bool grow(struct mgds_gone *gone)
{
    size_t room = gone->room ? 2 * gone->room : ROOM;
    uint64_t *more = (uint64_t *)mgds_calloc(room, sizeof(*more));

    if (!more)
        return false;
    for (size_t i = 0; i < gone->room; i++)
        if (gone->id[i] != 0)
            *place_of(more, room, gone->id[i]) = gone->id[i];
    free(gone->id);
    gone->id = more;
    gone->room = room;
    return true;
}

void mgds_gone_add(struct mgds_gone *gone, uint64_t id)
{
    uint64_t *at;

    if (2 * gone->count >= gone->room && !grow(gone))
        return;
    at = place_of(gone->id, gone->room, id);
    gone->count += *at == 0;
    *at = id;
}

bool mgds_gone_has(const struct mgds_gone *gone, uint64_t id)
{
    return gone->room > 0 && *place_of(gone->id, gone->room, id) == id;
}

void mgds_gone_fini(struct mgds_gone *gone)
{
    free(gone->id);
    *gone = (struct mgds_gone){NULL, 0, 0};
}
