/* Handles of our own. */
#include "shim/pmpi/handles.h"

#include <errno.h>
#include <stddef.h>

#include "shim/base/alloc.h"

enum {
    PLACE_BITS = 18,
    PLACE_MASK = (1 << PLACE_BITS) - 1,
    GENERATIONS = 128,
    FIRST_ROOM = 64,
};

/* Place 0 is never used. */
static int grow(struct mgds_handles *handles)
{
    unsigned old = handles->room ? handles->room : 1;
    unsigned room = handles->room ? 2 * handles->room : FIRST_ROOM;
    struct mgds_handle_place *places;

    if (room > PLACE_MASK + 1)
        return -ENOSPC;
    places = mgds_realloc(handles->places, room * sizeof(*places));
    if (!places)
        return -ENOMEM;
    for (unsigned i = old; i < room; i++)
        places[i] = (struct mgds_handle_place){NULL, 0, i + 1};
    places[room - 1].next_free = 0;
    handles->places = places;
    handles->room = room;
    handles->first_free = old;
    return 0;
}

static int handle_of(const struct mgds_handles *handles, unsigned at)
{
    return (int)(handles->kind | handles->places[at].generation << PLACE_BITS |
                 at);
}

int mgds_handles_add(int *handle, struct mgds_handles *handles, void *object)
{
    struct mgds_handle_place *place;
    int rc = 0;

    mgds_lock_acquire(&handles->lock);
    if (!handles->first_free)
        rc = grow(handles);
    if (rc == 0) {
        unsigned at = handles->first_free;

        place = &handles->places[at];
        handles->first_free = place->next_free;
        place->object = object;
        *handle = handle_of(handles, at);
    }
    mgds_lock_release(&handles->lock);
    return rc;
}

static struct mgds_handle_place *place_of(const struct mgds_handles *handles,
                                          int handle)
{
    unsigned at = (unsigned)handle & PLACE_MASK;

    if (at == 0 || at >= handles->room || !handles->places[at].object ||
        handle_of(handles, at) != handle)
        return NULL;
    return &handles->places[at];
}

void *mgds_handles_find(struct mgds_handles *handles, int handle)
{
    struct mgds_handle_place *place;
    void *object = NULL;

    mgds_lock_acquire(&handles->lock);
    place = place_of(handles, handle);
    if (place && handles->get(place->object))
        object = place->object;
    mgds_lock_release(&handles->lock);
    return object;
}

void *mgds_handles_remove(struct mgds_handles *handles, int handle)
{
    struct mgds_handle_place *place;
    void *object = NULL;

    mgds_lock_acquire(&handles->lock);
    place = place_of(handles, handle);
    if (place) {
        object = place->object;
        place->object = NULL;
        place->generation = (place->generation + 1) % GENERATIONS;
        place->next_free = handles->first_free;
        handles->first_free = (unsigned)(place - handles->places);
    }
    mgds_lock_release(&handles->lock);
    return object;
}
