/* Walks over a part of a layout's bytes; see layout.h. */
#include <stdint.h>

#include "shim/gds/mem/layout.h"

struct walk {
    int (*visit)(void *arg, const struct mgds_span *span, size_t packed);
    void *arg;
};

/* Bytes [from, to) of something that begins at these places; from < to. */
struct reach {
    ptrdiff_t offset;
    size_t packed;
    size_t from, to;
};

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t difference_of(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* What of the reach is in the element that begins `before` bytes on, at offset,
 * and has so many bytes. */
static struct reach reach_in(const struct reach *reach, ptrdiff_t offset,
                             size_t before, size_t bytes)
{
    return (struct reach){
        .offset = reach->offset + offset,
        .packed = reach->packed + before,
        .from = difference_of(reach->from, before),
        .to = least_of(difference_of(reach->to, before), bytes)};
}

static int visit_element(const struct walk *walk, struct mgds_span span,
                         const struct reach *reach)
{
    span.offset += reach->offset;
    return walk->visit(walk->arg, &span, reach->packed);
}

static int walk_flat(const struct walk *walk, const struct mgds_span *span,
                     const struct reach *reach)
{
    struct mgds_span cut = *span;

    cut.offset += reach->offset + (ptrdiff_t)reach->from;
    cut.width = reach->to - reach->from;
    return walk->visit(walk->arg, &cut, reach->packed + reach->from);
}

static int walk_span(const struct walk *walk, const struct mgds_span *span,
                     const struct reach *reach);

/* One dimension as elements: the reach is cut into the rest of a first, whole
 * ones, and the beginning of a last one. */
struct cut {
    size_t head, whole, tail; /* indices: tail = whole + number of whole */
};

static struct cut cut_at(const struct reach *reach, size_t unit)
{
    size_t head = reach->from / unit, tail = reach->to / unit;
    size_t whole = head + (reach->from % unit != 0);

    return (struct cut){
        .head = head, .whole = least_of(whole, tail), .tail = tail};
}

/* The outer dimension of a span, cut; what is left of an element goes on with
 * the next one. */
static int walk_cut(const struct walk *walk, const struct mgds_span *span,
                    const struct reach *reach)
{
    bool planes = span->planes > 1;
    size_t unit = planes ? span->width * span->rows : span->width;
    ptrdiff_t step = planes ? span->slice : span->pitch;
    struct cut cut = cut_at(reach, unit);
    struct mgds_span one = *span, some = *span;
    struct reach in;
    int rc = 0;

    *(planes ? &one.planes : &one.rows) = 1;
    *(planes ? &some.planes : &some.rows) = cut.tail - cut.whole;
    if (cut.head < cut.whole || cut.head == cut.tail) {
        in = reach_in(reach, (ptrdiff_t)cut.head * step, cut.head * unit, unit);
        rc = walk_span(walk, &one, &in);
    }
    if (rc == 0 && cut.tail > cut.whole) {
        in = reach_in(reach, (ptrdiff_t)cut.whole * step, cut.whole * unit,
                      (cut.tail - cut.whole) * unit);
        rc = visit_element(walk, some, &in);
    }
    if (rc == 0 && cut.tail > cut.head && reach->to % unit) {
        in = reach_in(reach, (ptrdiff_t)cut.tail * step, cut.tail * unit, unit);
        rc = walk_span(walk, &one, &in);
    }
    return rc;
}

static int walk_span(const struct walk *walk, const struct mgds_span *span,
                     const struct reach *reach)
{
    if (reach->from == 0 && reach->to == mgds_span_bytes(span))
        return visit_element(walk, *span, reach);
    if (span->rows > 1 || span->planes > 1)
        return walk_cut(walk, span, reach);
    return walk_flat(walk, span, reach);
}

static int walk_layout(const struct walk *walk,
                       const struct mgds_layout *layout,
                       const struct reach *reach);

static int walk_repeat(const struct walk *walk,
                       const struct mgds_layout *layout,
                       const struct reach *reach)
{
    size_t unit = layout->child->size;
    int rc = 0;

    for (size_t i = reach->from / unit; i * unit < reach->to && rc == 0; i++) {
        struct reach in =
            reach_in(reach, (ptrdiff_t)i * layout->stride, i * unit, unit);

        rc = walk_layout(walk, layout->child, &in);
    }
    return rc;
}

/* The part that a byte of the layout is in. */
static size_t part_of(const struct mgds_layout *layout, size_t byte)
{
    size_t low = 0, high = layout->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (layout->part[middle].before <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int walk_part(const struct walk *walk, const struct mgds_part *part,
                     const struct reach *reach)
{
    struct reach in;

    if (!part->layout) {
        in = reach_in(reach, 0, part->before, mgds_span_bytes(&part->span));
        return walk_span(walk, &part->span, &in);
    }
    in = reach_in(reach, part->span.offset, part->before, part->layout->size);
    return walk_layout(walk, part->layout, &in);
}

static int walk_list(const struct walk *walk, const struct mgds_layout *layout,
                     const struct reach *reach)
{
    int rc = 0;

    for (size_t i = part_of(layout, reach->from);
         i < layout->count && layout->part[i].before < reach->to && rc == 0;
         i++)
        rc = walk_part(walk, &layout->part[i], reach);
    return rc;
}

static int walk_layout(const struct walk *walk,
                       const struct mgds_layout *layout,
                       const struct reach *reach)
{
    switch (layout->kind) {
    case MGDS_LAYOUT_SPAN:
        return walk_span(walk, &layout->span, reach);
    case MGDS_LAYOUT_REPEAT:
        return walk_repeat(walk, layout, reach);
    case MGDS_LAYOUT_LIST:
        return walk_list(walk, layout, reach);
    case MGDS_LAYOUT_EMPTY:
        break;
    }
    return 0;
}

int mgds_layout_walk(const struct mgds_layout *layout, size_t first,
                     size_t bytes,
                     int (*visit_span)(void *arg, const struct mgds_span *span,
                                       size_t packed),
                     void *arg)
{
    const struct walk walk = {visit_span, arg};
    struct reach reach = {.from = first};

    reach.to = first > layout->size
                   ? first
                   : first + least_of(bytes, layout->size - first);
    return reach.from < reach.to ? walk_layout(&walk, layout, &reach) : 0;
}

static void stretch_reach(ptrdiff_t *from, ptrdiff_t *to, size_t count,
                          ptrdiff_t step)
{
    ptrdiff_t last = (ptrdiff_t)(count - 1) * step;

    if (count == 1)
        return;
    if (last < 0)
        *from += last;
    else
        *to += last;
}

void mgds_span_range(const struct mgds_span *span, ptrdiff_t *from,
                     ptrdiff_t *to)
{
    *from = span->offset;
    *to = span->offset + (ptrdiff_t)span->width;
    stretch_reach(from, to, span->rows, span->pitch);
    stretch_reach(from, to, span->planes, span->slice);
}
