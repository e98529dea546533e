/* What a buffer of an MPI call is. */
#include "shim/pmpi/buffer.h"

#include <errno.h>

#include "shim/base/stats.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/gds/cuda/settle.h"
#include "shim/pmpi/aware.h"
#include "shim/pmpi/types.h"

/* From the first to behind the last byte of count elements. */
struct range {
    const char *addr;
    size_t bytes;
};

/* -EOVERFLOW: no buffer is so large; the MPI below will say so. */
static int range_of(struct range *range, const struct mgds_buffer *buffer,
                    ptrdiff_t first, ptrdiff_t bytes)
{
    ptrdiff_t span;

    if (__builtin_mul_overflow((ptrdiff_t)buffer->count - 1,
                               buffer->layout->extent, &span) ||
        __builtin_add_overflow(bytes, span < 0 ? -span : span, &bytes))
        return -EOVERFLOW;
    range->addr = (const char *)buffer->addr + first + (span < 0 ? span : 0);
    range->bytes = (size_t)bytes;
    return 0;
}

/* What is to be done with each piece of GPU memory, or NULL. */
typedef void each_fn(const struct mgds_ptr *ptr);

/* Looks at a range: 1 if it is GPU memory, and then at the message's ptr. */
static int look_at(struct mgds_buffer *buffer, each_fn *each, ptrdiff_t first,
                   ptrdiff_t bytes)
{
    struct range range;
    struct mgds_ptr ptr;
    int rc = range_of(&range, buffer, first, bytes);

    if (rc < 0)
        return 0;
    rc = mgds_ptr_find(&ptr, range.addr, range.bytes);
    if (rc < 0 || !mgds_ptr_is_gpu(&ptr))
        return rc;
    buffer->ptr = ptr;
    if (each)
        each(&ptr);
    return 1;
}

struct visit {
    struct mgds_buffer *buffer;
    each_fn *each;
    int found; /* some span is in GPU memory */
};

static int visit_range(struct visit *visit, ptrdiff_t first, ptrdiff_t bytes)
{
    int rc = look_at(visit->buffer, visit->each, first, bytes);

    if (rc == 1)
        visit->found = 1;
    return rc < 0 ? rc : 0;
}

/* Of absolute addresses each row may be of another allocation. */
static int visit_rows(struct visit *visit, const struct mgds_span *span)
{
    int rc = 0;

    for (size_t row = 0; row < span->rows * span->planes && rc == 0; row++)
        rc = visit_range(visit, mgds_span_row(span, row),
                         (ptrdiff_t)span->width);
    return rc;
}

static int look_at_span(void *arg, const struct mgds_span *span, size_t packed)
{
    struct visit *visit = arg;
    ptrdiff_t from, to;

    (void)packed;
    if (visit->buffer->addr == MPI_BOTTOM)
        return visit_rows(visit, span);
    mgds_span_range(span, &from, &to);
    return visit_range(visit, from, to - from);
}

/* Pieces of several allocations, as a datatype of addresses may name them. */
static int look_by_span(struct mgds_buffer *buffer, each_fn *each)
{
    struct visit visit = {.buffer = buffer, .each = each};
    int rc =
        mgds_layout_walk(buffer->layout, 0, SIZE_MAX, look_at_span, &visit);

    return rc < 0 ? rc : visit.found;
}

static bool has_pieces(const struct mgds_layout *layout)
{
    ptrdiff_t offset;

    return !mgds_layout_is_piece(layout, 1, &offset);
}

static int look(struct mgds_buffer *buffer, each_fn *each)
{
    const struct mgds_layout *layout = buffer->layout;
    int rc;

    if (layout->size == 0)
        return 0;
    if (buffer->addr == MPI_BOTTOM && has_pieces(layout))
        return look_by_span(buffer, each);
    rc = look_at(buffer, each, layout->true_lb, layout->true_extent);
    return rc == -EFAULT && layout->kind == MGDS_LAYOUT_LIST
               ? look_by_span(buffer, each)
               : rc;
}

enum { MUST_LOOK = 2 };

/* What the buffer is, without its layout: most have simple datatypes. 0: host
 * memory; 1: GPU memory; MUST_LOOK; negative errno as mgds_ptr_find. */
static int glance(struct mgds_buffer *buffer, MPI_Datatype type)
{
    size_t size = mgds_type_basic_size(type), bytes;
    struct mgds_ptr ptr;
    int rc;

    if (size == 0 || __builtin_mul_overflow(size, buffer->count, &bytes))
        return MUST_LOOK;
    rc = mgds_ptr_find(&ptr, buffer->addr, bytes);
    if (rc < 0 || !mgds_ptr_is_gpu(&ptr))
        return rc;
    buffer->ptr = ptr;
    return 1;
}

int mgds_buffer_find(struct mgds_buffer *out, const void *addr, MPI_Count count,
                     MPI_Datatype type)
{
    struct mgds_buffer buffer = {.addr = (void *)addr, .count = (size_t)count};
    int rc = mgds_type_layout(&buffer.layout, type);

    if (rc < 0)
        return rc;
    rc = count > 0 ? look(&buffer, NULL) : 0;
    if (rc >= 0)
        *out = buffer;
    else
        mgds_buffer_put(&buffer);
    return rc;
}

bool mgds_buffer_is_gpu(const void *addr, MPI_Count count, MPI_Datatype type)
{
    struct mgds_buffer buffer;
    int rc = mgds_buffer_find(&buffer, addr, count, type);

    if (rc >= 0)
        mgds_buffer_put(&buffer);
    return rc == 1;
}

int mgds_buffer_find_again(struct mgds_buffer *buffer)
{
    return buffer->count > 0 ? look(buffer, NULL) : 0;
}

/* What is in one piece is in one allocation. */
void mgds_buffer_settle(const struct mgds_buffer *buffer)
{
    struct mgds_buffer again = *buffer;

    if (has_pieces(buffer->layout))
        look(&again, mgds_settle);
    else
        mgds_settle(&buffer->ptr);
}

char *mgds_buffer_piece(const struct mgds_buffer *buffer)
{
    ptrdiff_t offset;

    return mgds_layout_is_piece(buffer->layout, buffer->count, &offset)
               ? (char *)buffer->addr + offset
               : NULL;
}

static void count_buffer(enum mgds_stat first, const struct mgds_buffer *buffer)
{
    mgds_stats_add_sized(first, buffer->layout->size * buffer->count);
}

void mgds_buffer_count_staged(const struct mgds_buffer *buffer)
{
    count_buffer(MGDS_STAT_buffer_staged_1k, buffer);
}

int mgds_buffer_stage(struct mgds_bounce **out,
                      const struct mgds_buffer *buffer,
                      enum mgds_bounce_form form)
{
    int rc = mgds_bounce_create(out, buffer, form);

    if (rc == 0)
        mgds_buffer_count_staged(buffer);
    return rc;
}

int mgds_buffer_look(struct mgds_buffer *out, const void *addr, MPI_Count count,
                     MPI_Datatype type)
{
    struct mgds_buffer buffer = {.addr = (void *)addr};
    int rc, kind;

    if (count <= 0 || addr == MPI_IN_PLACE)
        return 0;
    buffer.count = (size_t)count;
    kind = glance(&buffer, type);
    if (kind <= 0)
        return kind;
    rc = mgds_type_layout(&buffer.layout, type);
    if (rc < 0)
        return rc == -EINVAL ? 0 : rc;
    rc = kind == MUST_LOOK ? look(&buffer, NULL) : kind;
    if (rc == 1 && !mgds_aware_stages(&buffer.ptr)) {
        count_buffer(MGDS_STAT_buffer_passed_1k, &buffer);
        rc = 0;
    }
    if (rc == 1) {
        mgds_buffer_settle(&buffer);
        *out = buffer;
    } else {
        mgds_buffer_put(&buffer);
    }
    return rc;
}

int mgds_buffer_look_bytes(const void *addr, MPI_Count bytes)
{
    struct mgds_ptr ptr;
    int rc;

    if (!addr || bytes <= 0 || addr == MPI_IN_PLACE)
        return 0;
    rc = mgds_ptr_find(&ptr, addr, (size_t)bytes);
    if (rc < 0)
        return rc;
    return mgds_ptr_is_gpu(&ptr) && mgds_aware_stages(&ptr);
}

void mgds_buffer_put(struct mgds_buffer *buffer)
{
    mgds_layout_put(buffer->layout);
}
