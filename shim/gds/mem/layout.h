/*
 * Where the bytes of a datatype lie: plain values, made by constructors that
 * mirror MPI's, so that a buffer can be copied without MPI.
 *
 * Bytes are counted in typemap order ("packed bytes"). A layout is one of
 *
 *   span    up to three regular dimensions: bytes in a row, rows, planes
 *   repeat  a layout again and again, a stride apart
 *   list    spans and layouts, each at an offset
 *
 * and is brought to the simplest of these when it is made: neighbours that
 * touch become one, regular ones rows, then planes. Repeats stay repeats,
 * layouts are shared, so memory is in proportion to the description of the
 * type, never to how many elements it spells out.
 *
 * Layouts are constant once made and counted by reference: any thread may read
 * one that it has a reference to. Constructors take references of their own to
 * what they keep of their children. One that is kept for ever is not counted:
 * threads that use it at the same time would pass its line of the cache around.
 */
#ifndef MGDS_MEM_LAYOUT_H
#define MGDS_MEM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a layout that are regular:
 *
 *   plane 0 at offset: |width|..pitch..|width|..pitch..|width|     rows
 *   plane 1: a slice further on                                    planes
 *
 * Pitch and slice may be of any sign and size; they mean nothing where there
 * is one row, one plane. No dimension is 0. */
struct mgds_span {
    ptrdiff_t offset; /* from the address of the buffer */
    size_t width;
    size_t rows;
    ptrdiff_t pitch;
    size_t planes;
    ptrdiff_t slice;
};

enum mgds_layout_kind {
    MGDS_LAYOUT_EMPTY, /* no bytes */
    MGDS_LAYOUT_SPAN,
    MGDS_LAYOUT_REPEAT,
    MGDS_LAYOUT_LIST,
};

struct mgds_layout;
struct mgds_table;

/* An entry of a list: a span, or another layout at span.offset. */
struct mgds_part {
    struct mgds_span span;
    struct mgds_layout *layout; /* NULL: the span */
    size_t before;              /* packed bytes of the parts before this one */
};

struct mgds_layout {
    size_t size;           /* packed bytes */
    size_t unit;           /* the greatest common divisor of the sizes of its
                              basic types; 0: no bytes */
    ptrdiff_t lb, extent;  /* as MPI's; without alignment's padding */
    ptrdiff_t true_lb;     /* of the bytes; 0 without any */
    ptrdiff_t true_extent; /* likewise */
    bool marked;           /* resized, or a member was */
    bool kept;             /* for ever: set by who made it, before others
                              have it */
    size_t spans;          /* that all of it walks as; at most SIZE_MAX */
    unsigned refs;         /* atomic */
    enum mgds_layout_kind kind;
    struct mgds_span span;     /* SPAN */
    struct mgds_layout *child; /* REPEAT: of what; LIST: whose parts these
                                  are, NULL if its own */
    size_t count;              /* REPEAT: how often; LIST: parts */
    ptrdiff_t stride;          /* REPEAT */
    struct mgds_part *part;    /* LIST */
    struct mgds_table *table;  /* for pack.h: atomic, NULL until first needed */
};

/*
 * The constructors. 0 and a new reference in out, which is left alone on
 * error: -ENOMEM; -EOVERFLOW if a size or an address does not fit 64 bits.
 * Counts and blocklengths may be 0, displacements and strides anything.
 *
 * lb and extent follow the standard's rule: the least and the largest byte,
 * unless a member was resized, then of resized members only. What a compiler
 * pads structs with for alignment is not known here: who mirrors a datatype of
 * an MPI asks that MPI for its extent and gives it to mgds_layout_resized.
 */

/* A predefined type: size bytes from 0 on, elements an extent apart. */
int mgds_layout_bytes(struct mgds_layout **out, size_t size, size_t extent);

int mgds_layout_contiguous(struct mgds_layout **out, struct mgds_layout *child,
                           size_t count);

/* MPI_Type_create_hvector; for subarrays: one for each dimension, the fastest
 * first, then resized. */
int mgds_layout_hvector(struct mgds_layout **out, struct mgds_layout *child,
                        size_t count, size_t blocklength, ptrdiff_t stride);

/* MPI_Type_create_hindexed; indexed types with displacements in bytes. */
int mgds_layout_hindexed(struct mgds_layout **out, struct mgds_layout *child,
                         size_t count, const size_t blocklength[],
                         const ptrdiff_t displacement[]);

/* MPI_Type_create_struct; absolute addresses too. */
int mgds_layout_struct(struct mgds_layout **out, size_t count,
                       const size_t blocklength[],
                       const ptrdiff_t displacement[],
                       struct mgds_layout *const child[]);

int mgds_layout_resized(struct mgds_layout **out, struct mgds_layout *child,
                        ptrdiff_t lb, ptrdiff_t extent);

/* What a call with a count means: count elements an extent apart. The same as
 * contiguous; for count 1 the layout itself, with one more reference. */
int mgds_layout_repeat(struct mgds_layout **out, struct mgds_layout *layout,
                       size_t count);

/* For layout.c. */
void mgds_layout_count(struct mgds_layout *layout);
void mgds_layout_count_less(struct mgds_layout *layout);

static inline struct mgds_layout *mgds_layout_get(struct mgds_layout *layout)
{
    if (!layout->kept)
        mgds_layout_count(layout);
    return layout;
}

/* NULL is allowed. */
static inline void mgds_layout_put(struct mgds_layout *layout)
{
    if (layout && !layout->kept)
        mgds_layout_count_less(layout);
}

/* Where a row of a span begins; rows are counted through all planes. */
static inline ptrdiff_t mgds_span_row(const struct mgds_span *span, size_t row)
{
    return span->offset + (ptrdiff_t)(row / span->rows) * span->slice +
           (ptrdiff_t)(row % span->rows) * span->pitch;
}

/* Parts that no layout has got: for list.c. NULL is allowed, if there are 0. */
void mgds_parts_destroy(struct mgds_part *part, size_t count);

/* Whether count elements are one piece of memory without gaps, which begins at
 * *offset. More than one are if one is and the next begins behind it. */
static inline bool mgds_layout_is_piece(const struct mgds_layout *layout,
                                        size_t count, ptrdiff_t *offset)
{
    *offset = layout->span.offset;
    return layout->kind == MGDS_LAYOUT_SPAN && layout->span.rows == 1 &&
           layout->span.planes == 1 &&
           (count == 1 ||
            (layout->extent >= 0 && layout->size == (size_t)layout->extent));
}

/* One piece of memory from 0 on without gaps, also between elements: count
 * elements are count * size bytes. */
static inline bool mgds_layout_is_dense(const struct mgds_layout *layout)
{
    ptrdiff_t offset;

    return mgds_layout_is_piece(layout, 2, &offset) && offset == 0;
}

/* Whether a message of so many bytes ends inside an element, where a receive
 * has this layout. As in MPICH, dense ones take any bytes. Where basic types of
 * several sizes meet, only their common divisor is looked at. */
static inline bool mgds_layout_tears(const struct mgds_layout *layout,
                                     size_t bytes)
{
    return layout->unit > 1 && bytes % layout->unit != 0 &&
           !mgds_layout_is_dense(layout);
}

/*
 * Gives the packed bytes [first, first + bytes) as spans in typemap order, cut
 * at both ends where need be, to visit(arg, span, packed), packed being the
 * place of the span's first byte among all packed bytes. What lies behind the
 * layout's size is not there. Stops with what visit returns if that is not 0;
 * else 0. A cut span comes as five at most.
 */
int mgds_layout_walk(const struct mgds_layout *layout, size_t first,
                     size_t bytes,
                     int (*visit)(void *arg, const struct mgds_span *span,
                                  size_t packed),
                     void *arg);

/* The bytes of a span. */
static inline size_t mgds_span_bytes(const struct mgds_span *span)
{
    return span->width * span->rows * span->planes;
}

/* The addresses of a span, from the buffer's on: [*from, *to). */
void mgds_span_range(const struct mgds_span *span, ptrdiff_t *from,
                     ptrdiff_t *to);

#endif
