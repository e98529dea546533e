/* Lists of spans and their joins; see list.h. */
#include "shim/gds/mem/list.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "shim/base/alloc.h"

static bool is_flat(const struct mgds_span *span)
{
    return span->rows == 1 && span->planes == 1;
}

/* Whether stride == count * step. */
static bool part_continues(ptrdiff_t stride, size_t count, ptrdiff_t step)
{
    ptrdiff_t whole;

    return !__builtin_mul_overflow(count, step, &whole) && whole == stride;
}

bool mgds_span_repeat(struct mgds_span *span, size_t count, ptrdiff_t stride)
{
    if (is_flat(span) && stride >= 0 && (size_t)stride == span->width) {
        span->width *= count;
    } else if (is_flat(span)) {
        span->rows = count;
        span->pitch = stride;
    } else if (span->planes == 1 &&
               part_continues(stride, span->rows, span->pitch)) {
        span->rows *= count;
    } else if (span->planes == 1) {
        span->planes = count;
        span->slice = stride;
    } else if (part_continues(stride, span->planes, span->slice)) {
        span->planes *= count;
    } else {
        return false;
    }
    return true;
}

static int append_part(struct mgds_list *list, const struct mgds_part *part)
{
    if (!list->part || list->count == list->room) {
        size_t room = list->room ? 2 * list->room : MGDS_LIST_SHORT;
        struct mgds_part *more;

        if (room > SIZE_MAX / sizeof(*more))
            return -ENOMEM;
        more =
            (struct mgds_part *)mgds_realloc(list->part, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        list->part = more;
        list->room = room;
    }
    list->part[list->count++] = *part;
    return 0;
}

static int add_span(struct mgds_list *list, struct mgds_span span,
                    ptrdiff_t offset)
{
    struct mgds_part *last = list->count ? &list->part[list->count - 1] : NULL;
    ptrdiff_t end;

    if (__builtin_add_overflow(span.offset, offset, &span.offset))
        return -EOVERFLOW;
    if (last && !last->layout && is_flat(&last->span) && is_flat(&span) &&
        !__builtin_add_overflow(last->span.offset, last->span.width, &end) &&
        end == span.offset) {
        last->span.width += span.width;
        return 0;
    }
    return append_part(list, &(struct mgds_part){.span = span});
}

static int add_nested(struct mgds_list *list, struct mgds_layout *layout,
                      ptrdiff_t offset)
{
    const struct mgds_part part = {.span.offset = offset, .layout = layout};
    int rc = append_part(list, &part);

    if (rc == 0)
        mgds_layout_get(layout);
    return rc;
}

static int add_parts(struct mgds_list *list, const struct mgds_layout *layout,
                     ptrdiff_t offset)
{
    int rc = 0;

    for (size_t i = 0; i < layout->count && rc == 0; i++) {
        const struct mgds_part *part = &layout->part[i];
        ptrdiff_t at;

        if (!part->layout)
            rc = add_span(list, part->span, offset);
        else if (__builtin_add_overflow(part->span.offset, offset, &at))
            rc = -EOVERFLOW;
        else
            rc = add_nested(list, part->layout, at);
    }
    return rc;
}

int mgds_list_add(struct mgds_list *list, struct mgds_layout *layout,
                  ptrdiff_t offset)
{
    if (layout->kind == MGDS_LAYOUT_EMPTY)
        return 0;
    if (layout->kind == MGDS_LAYOUT_SPAN)
        return add_span(list, layout->span, offset);
    if (layout->kind == MGDS_LAYOUT_LIST && layout->count <= MGDS_LIST_SHORT)
        return add_parts(list, layout, offset);
    return add_nested(list, layout, offset);
}

static bool same_shape(const struct mgds_span *a, const struct mgds_span *b)
{
    return a->width == b->width && a->rows == b->rows &&
           (a->rows == 1 || a->pitch == b->pitch) && a->planes == 1 &&
           b->planes == 1;
}

/* Of two neighbours of one shape, how far apart they are. */
static bool step_of(const struct mgds_part *part, bool flat, ptrdiff_t *step)
{
    const struct mgds_span *a = &part[0].span, *b = &part[1].span;

    return !part[0].layout && !part[1].layout && is_flat(a) == flat &&
           same_shape(a, b) &&
           !__builtin_sub_overflow(b->offset, a->offset, step);
}

/* How many parts from i on are of one shape and equally far apart. */
static size_t run_from(const struct mgds_list *list, size_t i, bool flat,
                       ptrdiff_t *step)
{
    size_t end = i + 1;
    ptrdiff_t next;

    if (end >= list->count || !step_of(&list->part[i], flat, step))
        return 1;
    for (end++; end < list->count; end++) {
        if (!step_of(&list->part[end - 1], flat, &next) || next != *step)
            break;
    }
    return end - i;
}

/* Two that belong together by chance do not break up a longer run. */
static size_t best_run(const struct mgds_list *list, size_t i, bool flat,
                       ptrdiff_t *step)
{
    ptrdiff_t other;
    size_t run = run_from(list, i, flat, step);

    if (run == 2 && run_from(list, i + 1, flat, &other) > 2)
        return 1;
    return run;
}

/* Flat ones become rows; the others, rows already, planes. */
static void join_parts(struct mgds_list *list, bool flat)
{
    size_t kept = 0;
    ptrdiff_t step;

    for (size_t i = 0; i < list->count;) {
        struct mgds_part part = list->part[i];
        size_t run = best_run(list, i, flat, &step);

        if (run > 1)
            mgds_span_repeat(&part.span, run, step);
        list->part[kept++] = part;
        i += run;
    }
    list->count = kept;
}

static size_t add_up(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

void mgds_list_finish(struct mgds_list *list)
{
    size_t before = 0;

    join_parts(list, true);
    join_parts(list, false);
    list->spans = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct mgds_part *part = &list->part[i];

        part->before = before;
        before +=
            part->layout ? part->layout->size : mgds_span_bytes(&part->span);
        list->spans =
            add_up(list->spans, part->layout ? part->layout->spans : 1);
    }
}

void mgds_list_fini(struct mgds_list *list)
{
    mgds_parts_destroy(list->part, list->count);
}
