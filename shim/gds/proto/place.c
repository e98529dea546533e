/* The book of places in a ring; see place.h. */
#include "shim/gds/proto/place.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"

enum { FIRST_CAPACITY = 64 };

int mgds_places_init(struct mgds_places *places, uint32_t units, uint64_t first)
{
    *places = (struct mgds_places){.units = units,
                                   .next = first,
                                   .oldest = first,
                                   .capacity = FIRST_CAPACITY};
    places->out = (struct mgds_place *)mgds_calloc(places->capacity,
                                                   sizeof(*places->out));
    return places->out ? 0 : -ENOMEM;
}

void mgds_places_fini(struct mgds_places *places)
{
    free(places->out);
    places->out = NULL;
}

static struct mgds_place *find_place(const struct mgds_places *places,
                                     uint64_t serial)
{
    return &places->out[serial & (places->capacity - 1)];
}

uint64_t mgds_places_out(const struct mgds_places *places)
{
    return places->next - places->oldest;
}

/* Twice as many; each stays where its serial says. */
static int grow_book(struct mgds_places *places)
{
    struct mgds_place *old = places->out;
    struct mgds_places larger = *places;

    larger.capacity *= 2;
    larger.out =
        (struct mgds_place *)mgds_calloc(larger.capacity, sizeof(*larger.out));
    if (!larger.out)
        return -ENOMEM;
    for (uint64_t s = places->oldest; s < places->next; s++)
        *find_place(&larger, s) = *find_place(places, s);
    places->out = larger.out;
    places->capacity = larger.capacity;
    free(old);
    return 0;
}

/* Where so many units fit, or -ENOSPC. What is out lies from the oldest place
 * to the end, perhaps around the ring's. */
static int fit_units(uint32_t *at, const struct mgds_places *places,
                     uint32_t units)
{
    bool empty = mgds_places_out(places) == 0;
    uint32_t oldest = empty ? 0 : find_place(places, places->oldest)->at;
    uint32_t end = empty ? 0 : places->end;
    bool around = !empty && end <= oldest;

    *at = end;
    if (units <= (around ? oldest : places->units) - end)
        return 0;
    *at = 0;
    return !around && units <= oldest ? 0 : -ENOSPC;
}

int mgds_places_take(struct mgds_places *places, uint32_t units, uint32_t *at,
                     uint64_t *serial)
{
    int rc = fit_units(at, places, units);

    if (rc == 0 && mgds_places_out(places) == places->capacity)
        rc = grow_book(places);
    if (rc < 0)
        return rc;
    *serial = places->next++;
    *find_place(places, *serial) = (struct mgds_place){.at = *at};
    places->end = *at + units;
    return 0;
}

static bool is_out(const struct mgds_places *places, uint64_t serial)
{
    return serial >= places->oldest && serial < places->next &&
           !find_place(places, serial)->back;
}

int mgds_places_give(struct mgds_places *places, uint64_t serial)
{
    if (!is_out(places, serial))
        return -EINVAL;
    find_place(places, serial)->back = true;
    while (places->oldest < places->next &&
           find_place(places, places->oldest)->back)
        places->oldest++;
    return 0;
}
