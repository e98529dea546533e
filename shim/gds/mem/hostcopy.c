/* Packing by the CPU; see hostcopy.h. */
#include "shim/gds/mem/hostcopy.h"

#include <stdbool.h>
#include <string.h>

struct copy {
    char *user, *row;
    bool up; /* row to user */
};

static void copy_row(const struct copy *copy, ptrdiff_t at, size_t packed,
                     size_t width)
{
    if (copy->up)
        memcpy(copy->user + at, copy->row + packed, width);
    else
        memcpy(copy->row + packed, copy->user + at, width);
}

static int copy_span(void *arg, const struct mgds_span *span, size_t packed)
{
    const struct copy *copy = (const struct copy *)arg;

    for (size_t plane = 0; plane < span->planes; plane++)
        for (size_t row = 0; row < span->rows; row++) {
            copy_row(copy,
                     span->offset + (ptrdiff_t)plane * span->slice +
                         (ptrdiff_t)row * span->pitch,
                     packed, span->width);
            packed += span->width;
        }
    return 0;
}

/* Element by element: no layout of all of them need be made. */
static void walk_elements(struct copy *copy, const struct mgds_buffer *user,
                          size_t bytes)
{
    size_t size = user->layout->size;

    for (size_t i = 0; i < user->count && bytes > 0; i++) {
        size_t now = bytes < size ? bytes : size;

        mgds_layout_walk(user->layout, 0, now, copy_span, copy);
        copy->user += user->layout->extent;
        copy->row += now;
        bytes -= now;
    }
}

/* Elements may be single bytes: those that lie in one piece are one row. */
static void walk_buffer(struct copy *copy, const struct mgds_buffer *user,
                        size_t bytes)
{
    size_t all = user->layout->size * user->count;
    ptrdiff_t offset;

    if (mgds_layout_is_piece(user->layout, user->count, &offset))
        copy_row(copy, offset, 0, bytes < all ? bytes : all);
    else
        walk_elements(copy, user, bytes);
}

void mgds_host_pack(char *row, const struct mgds_buffer *user, size_t bytes)
{
    struct copy copy = {(char *)user->addr, row, false};

    walk_buffer(&copy, user, bytes);
}

void mgds_host_unpack(const struct mgds_buffer *user, const char *row,
                      size_t bytes)
{
    struct copy copy = {(char *)user->addr, (char *)(uintptr_t)row, true};

    walk_buffer(&copy, user, bytes);
}
