/* Constructors of layouts; see layout.h. */
#include "shim/gds/mem/layout.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/mem/list.h"

/* Up to so many parts a repeated list is spelled out: joins are found across
 * its elements, and few enough spans need no kernel. */
enum { SPELLED_OUT = 16 };

/* What the members of a layout cover, as they are added. Addresses are kept
 * wide: sums are checked once, at the end. */
struct bounds {
    size_t size, unit;
    bool data, any, marked;
    __int128 lb, ub;    /* of marked members if there are any, else of all */
    __int128 low, high; /* of the data */
};

static void widen_bounds(__int128 *low, __int128 *high, __int128 from,
                         __int128 to, bool first)
{
    *low = first || from < *low ? from : *low;
    *high = first || to > *high ? to : *high;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static __int128 lesser_of(__int128 a, __int128 b)
{
    return a < b ? a : b;
}

/* count of a member, a stride apart, the first at offset. A member without
 * data says nothing, unless it was resized. -EOVERFLOW: the size. */
static int add_bounds(struct bounds *bounds, const struct mgds_layout *member,
                      size_t count, __int128 stride, ptrdiff_t offset)
{
    __int128 last = stride * ((__int128)count - 1);
    __int128 from = offset + lesser_of(0, last);
    __int128 to = offset + last - lesser_of(0, last);
    size_t size;

    if (count == 0 || (member->size == 0 && !member->marked))
        return 0;
    if (__builtin_mul_overflow(member->size, count, &size) ||
        __builtin_add_overflow(bounds->size, size, &bounds->size) ||
        bounds->size > PTRDIFF_MAX)
        return -EOVERFLOW;
    if (member->size > 0) {
        widen_bounds(&bounds->low, &bounds->high, from + member->true_lb,
                     to + member->true_lb + member->true_extent, !bounds->data);
        bounds->data = true;
        bounds->unit = common_divisor(bounds->unit, member->unit);
    }
    if (bounds->marked && !member->marked)
        return 0;
    widen_bounds(&bounds->lb, &bounds->ub, from + member->lb,
                 to + member->lb + member->extent,
                 !bounds->any || bounds->marked != member->marked);
    bounds->any = true;
    bounds->marked = member->marked;
    return 0;
}

static bool fits_in_64(__int128 value)
{
    return value >= PTRDIFF_MIN && value <= PTRDIFF_MAX;
}

static int create_layout(struct mgds_layout **out, enum mgds_layout_kind kind,
                         const struct bounds *bounds)
{
    struct mgds_layout *layout;

    if (!fits_in_64(bounds->lb) || !fits_in_64(bounds->ub) ||
        !fits_in_64(bounds->low) || !fits_in_64(bounds->high) ||
        !fits_in_64(bounds->ub - bounds->lb) ||
        !fits_in_64(bounds->high - bounds->low))
        return -EOVERFLOW;
    layout = (struct mgds_layout *)mgds_calloc(1, sizeof(*layout));
    if (!layout)
        return -ENOMEM;
    layout->refs = 1;
    layout->kind = kind;
    layout->size = bounds->size;
    layout->unit = bounds->unit;
    layout->marked = bounds->marked;
    layout->lb = (ptrdiff_t)bounds->lb;
    layout->extent = (ptrdiff_t)(bounds->ub - bounds->lb);
    layout->true_lb = (ptrdiff_t)bounds->low;
    layout->true_extent = (ptrdiff_t)(bounds->high - bounds->low);
    *out = layout;
    return 0;
}

static int create_span(struct mgds_layout **out, const struct bounds *bounds,
                       const struct mgds_span *span)
{
    int rc = create_layout(out, MGDS_LAYOUT_SPAN, bounds);

    if (rc < 0)
        return rc;
    (*out)->span = *span;
    (*out)->spans = 1;
    return 0;
}

int mgds_layout_bytes(struct mgds_layout **out, size_t size, size_t extent)
{
    const struct bounds bounds = {.size = size,
                                  .unit = size,
                                  .ub = (__int128)extent,
                                  .high = (__int128)size};
    const struct mgds_span span = {.width = size, .rows = 1, .planes = 1};

    if (size == 0)
        return create_layout(out, MGDS_LAYOUT_EMPTY, &bounds);
    return create_span(out, &bounds, &span);
}

/* Takes the list over, also on error. */
static int create_list(struct mgds_layout **out, const struct bounds *bounds,
                       struct mgds_list *list)
{
    int rc;

    mgds_list_finish(list);
    if (list->count == 0)
        rc = create_layout(out, MGDS_LAYOUT_EMPTY, bounds);
    else if (list->count == 1 && !list->part->layout)
        rc = create_span(out, bounds, &list->part->span);
    else
        rc = create_layout(out, MGDS_LAYOUT_LIST, bounds);
    if (rc < 0 || (*out)->kind != MGDS_LAYOUT_LIST) {
        mgds_list_fini(list);
        return rc;
    }
    (*out)->part = list->part;
    (*out)->count = list->count;
    (*out)->spans = list->spans;
    return 0;
}

static int create_repeat(struct mgds_layout **out, const struct bounds *bounds,
                         struct mgds_layout *child, size_t count,
                         ptrdiff_t stride)
{
    ptrdiff_t whole;
    int rc = create_layout(out, MGDS_LAYOUT_REPEAT, bounds);

    if (rc < 0)
        return rc;
    if (__builtin_mul_overflow(child->spans, count, &(*out)->spans))
        (*out)->spans = SIZE_MAX;
    if (child->kind == MGDS_LAYOUT_REPEAT &&
        !__builtin_mul_overflow(child->count, child->stride, &whole) &&
        whole == stride) {
        count *= child->count;
        stride = child->stride;
        child = child->child;
    }
    (*out)->child = mgds_layout_get(child);
    (*out)->count = count;
    (*out)->stride = stride;
    return 0;
}

static int spell_out(struct mgds_layout **out, const struct bounds *bounds,
                     struct mgds_layout *child, size_t count, ptrdiff_t stride)
{
    struct mgds_list list = {0};
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = mgds_list_add(&list, child, (ptrdiff_t)i * stride);
    if (rc < 0) {
        mgds_list_fini(&list);
        return rc;
    }
    return create_list(out, bounds, &list);
}

/* count of child, a stride apart. */
static int repeat_layout(struct mgds_layout **out, struct mgds_layout *child,
                         size_t count, ptrdiff_t stride)
{
    struct bounds bounds = {0};
    struct mgds_span span = child->span;
    int rc = add_bounds(&bounds, child, count, stride, 0);

    if (rc < 0)
        return rc;
    if (count == 1) {
        *out = mgds_layout_get(child);
        return 0;
    }
    if (bounds.size == 0)
        return create_layout(out, MGDS_LAYOUT_EMPTY, &bounds);
    if (child->kind == MGDS_LAYOUT_SPAN &&
        mgds_span_repeat(&span, count, stride))
        return create_span(out, &bounds, &span);
    if ((child->kind == MGDS_LAYOUT_LIST ? child->count : 1) <=
        SPELLED_OUT / count)
        return spell_out(out, &bounds, child, count, stride);
    return create_repeat(out, &bounds, child, count, stride);
}

int mgds_layout_contiguous(struct mgds_layout **out, struct mgds_layout *child,
                           size_t count)
{
    return repeat_layout(out, child, count, child->extent);
}

int mgds_layout_repeat(struct mgds_layout **out, struct mgds_layout *layout,
                       size_t count)
{
    return repeat_layout(out, layout, count, layout->extent);
}

int mgds_layout_hvector(struct mgds_layout **out, struct mgds_layout *child,
                        size_t count, size_t blocklength, ptrdiff_t stride)
{
    struct mgds_layout *block;
    int rc = mgds_layout_contiguous(&block, child, blocklength);

    if (rc < 0)
        return rc;
    rc = repeat_layout(out, block, count, stride);
    mgds_layout_put(block);
    return rc;
}

/* The members of indexed and struct types: blocks of children. */
struct members {
    struct bounds bounds;
    struct mgds_list list;
    struct mgds_layout *child; /* of the last block */
    struct mgds_layout *block; /* the last one made; often the next one too */
    size_t blocklength;
};

static int make_block(struct members *members, struct mgds_layout *child,
                      size_t blocklength)
{
    struct mgds_layout *block;
    int rc;

    if (members->block && members->child == child &&
        members->blocklength == blocklength)
        return 0;
    rc = mgds_layout_contiguous(&block, child, blocklength);
    if (rc < 0)
        return rc;
    mgds_layout_put(members->block);
    members->block = block;
    members->child = child;
    members->blocklength = blocklength;
    return 0;
}

static int add_block(struct members *members, struct mgds_layout *child,
                     size_t blocklength, ptrdiff_t displacement)
{
    int rc = add_bounds(&members->bounds, child, blocklength, child->extent,
                        displacement);

    if (rc == 0)
        rc = make_block(members, child, blocklength);
    if (rc == 0)
        rc = mgds_list_add(&members->list, members->block, displacement);
    return rc;
}

/* Takes members over; rc is how adding them went. */
static int create_members(struct mgds_layout **out, struct members *members,
                          int rc)
{
    mgds_layout_put(members->block);
    if (rc < 0) {
        mgds_list_fini(&members->list);
        return rc;
    }
    return create_list(out, &members->bounds, &members->list);
}

int mgds_layout_hindexed(struct mgds_layout **out, struct mgds_layout *child,
                         size_t count, const size_t blocklength[],
                         const ptrdiff_t displacement[])
{
    struct members members = {0};
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_block(&members, child, blocklength[i], displacement[i]);
    return create_members(out, &members, rc);
}

int mgds_layout_struct(struct mgds_layout **out, size_t count,
                       const size_t blocklength[],
                       const ptrdiff_t displacement[],
                       struct mgds_layout *const child[])
{
    struct members members = {0};
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_block(&members, child[i], blocklength[i], displacement[i]);
    return create_members(out, &members, rc);
}

/* A list's parts stay with the list that has them. */
int mgds_layout_resized(struct mgds_layout **out, struct mgds_layout *child,
                        ptrdiff_t lb, ptrdiff_t extent)
{
    struct mgds_layout *layout;
    ptrdiff_t ub;

    if (__builtin_add_overflow(lb, extent, &ub))
        return -EOVERFLOW;
    layout = (struct mgds_layout *)mgds_malloc(sizeof(*layout));
    if (!layout)
        return -ENOMEM;
    *layout = *child;
    layout->refs = 1;
    layout->table = NULL;
    layout->lb = lb;
    layout->extent = extent;
    layout->marked = true;
    if (layout->kind == MGDS_LAYOUT_LIST && !layout->child)
        layout->child = child;
    if (layout->child)
        mgds_layout_get(layout->child);
    *out = layout;
    return 0;
}
