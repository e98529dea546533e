/* Gaps in the numbers that came; see window.h. */
#include "shim/gds/wire/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"

static struct mgds_gap *gaps_of(struct mgds_window *window)
{
    return window->more ? window->more : window->own;
}

static int grow_gaps(struct mgds_window *window)
{
    unsigned room = window->more ? window->room : MGDS_WINDOW_OWN_GAPS;
    struct mgds_gap *more;

    if (window->gaps < room)
        return 0;
    more =
        (struct mgds_gap *)mgds_realloc(window->more, sizeof(*more) * 2 * room);
    if (!more)
        return -ENOMEM;
    if (!window->more)
        memcpy(more, window->own, sizeof(window->own));
    window->more = more;
    window->room = 2 * room;
    return 0;
}

static int insert_gap(struct mgds_window *window, unsigned at,
                      struct mgds_gap gap)
{
    int rc = grow_gaps(window);
    struct mgds_gap *gaps = gaps_of(window);

    if (rc < 0)
        return rc;
    memmove(&gaps[at + 1], &gaps[at], (window->gaps - at) * sizeof(*gaps));
    gaps[at] = gap;
    window->gaps++;
    return 0;
}

static void drop_gap(struct mgds_window *window, unsigned at)
{
    struct mgds_gap *gaps = gaps_of(window);

    window->gaps--;
    memmove(&gaps[at], &gaps[at + 1], (window->gaps - at) * sizeof(*gaps));
}

/* The first gap that does not end below the number; gaps: there is none. */
static unsigned find_gap(struct mgds_window *window, uint64_t number)
{
    const struct mgds_gap *gaps = gaps_of(window);
    unsigned low = 0;
    unsigned high = window->gaps;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (gaps[middle].last < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int fill_gap(struct mgds_window *window, uint64_t number)
{
    unsigned at = find_gap(window, number);
    struct mgds_gap *gap = &gaps_of(window)[at];
    struct mgds_gap below;
    int rc;

    if (at == window->gaps || gap->first > number)
        return -EALREADY;
    if (gap->first == gap->last) {
        drop_gap(window, at);
    } else if (gap->first == number) {
        gap->first++;
    } else if (gap->last == number) {
        gap->last--;
    } else {
        below = (struct mgds_gap){gap->first, number - 1};
        rc = insert_gap(window, at, below);
        if (rc < 0)
            return rc;
        gaps_of(window)[at + 1].first = number + 1;
    }
    return 0;
}

int mgds_window_take(struct mgds_window *window, uint64_t number)
{
    const struct mgds_gap gap = {window->top + 1, number - 1};
    int rc = 0;

    if (number <= window->top)
        return fill_gap(window, number);
    if (number > window->top + 1)
        rc = insert_gap(window, window->gaps, gap);
    if (rc == 0)
        window->top = number;
    return rc;
}

void mgds_window_fini(struct mgds_window *window)
{
    free(window->more);
    *window = (struct mgds_window){.top = 0};
}
