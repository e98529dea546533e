/* Layouts of every kind, and where their bytes lie. */
#include "tests/soft/stage_kinds.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/soft/stage_place.h"

static struct mgds_layout *resized(struct mgds_layout *child, ptrdiff_t lb,
                                   ptrdiff_t extent)
{
    struct mgds_layout *layout;

    assert_int_equal(mgds_layout_resized(&layout, child, lb, extent), 0);
    mgds_layout_put(child);
    return layout;
}

static struct mgds_layout *indexed_of(struct mgds_layout *child, size_t count,
                                      const ptrdiff_t displacement[])
{
    static const size_t blocklength[] = {1, 3, 1, 2, 1, 2, 4, 1};
    struct mgds_layout *layout;

    assert_int_equal(
        mgds_layout_hindexed(&layout, child, count, blocklength, displacement),
        0);
    mgds_layout_put(child);
    return layout;
}

static const ptrdiff_t irregular[] = {0, 40, 96, -120, 800, 1208, 304, 2000};
static const ptrdiff_t odd[] = {0, 41, 97, -121, 801, 1203, 307, 2001};

static const ptrdiff_t few[] = {0, 40, 200};

static struct mgds_layout *make_dense(void)
{
    return stage_bytes_of(8);
}

static struct mgds_layout *make_rows(void)
{
    return stage_hvector_of(stage_bytes_of(8), 40, 64, 1000);
}

static struct mgds_layout *make_planes(void)
{
    return stage_hvector_of(stage_hvector_of(stage_bytes_of(300), 3, 1, 400), 5,
                            1, 2000);
}

static struct mgds_layout *make_narrow(void)
{
    return stage_hvector_of(stage_bytes_of(8), 500, 1, 24);
}

static struct mgds_layout *make_gaps(void)
{
    return resized(stage_bytes_of(6), 0, 8);
}

static struct mgds_layout *make_few(void)
{
    return indexed_of(stage_bytes_of(24), 3, few);
}

static struct mgds_layout *make_irregular(void)
{
    return indexed_of(stage_bytes_of(8), 8, irregular);
}

static struct mgds_layout *make_odd(void)
{
    return indexed_of(stage_bytes_of(3), 8, odd);
}

static struct mgds_layout *make_backwards(void)
{
    return stage_hvector_of(stage_bytes_of(16), 20, 2, -64);
}

static struct mgds_layout *make_nested(void)
{
    return stage_hvector_of(resized(make_irregular(), -120, 2304), 3, 2, 20000);
}

static struct mgds_layout *make_struct(void)
{
    const size_t blocklength[] = {2, 1, 5, 1};
    const ptrdiff_t displacement[] = {16, 9000, 40000, 50000};
    struct mgds_layout *child[] = {make_odd(), make_narrow(), stage_bytes_of(4),
                                   make_nested()};
    struct mgds_layout *layout;

    assert_int_equal(
        mgds_layout_struct(&layout, 4, blocklength, displacement, child), 0);
    for (int i = 0; i < 4; i++)
        mgds_layout_put(child[i]);
    return resized(layout, 0, 120000);
}

const struct stage_kind stage_kinds[STAGE_KINDS] = {
    {"dense", make_dense, 5000, 1, 0, 1},
    {"rows", make_rows, 1, 1, 0, 1},
    {"rows, many", make_rows, 2, 0, 1, 80},
    {"planes", make_planes, 1, 1, 0, 1},
    {"planes, many", make_planes, 3, 3, 0, 3},
    {"narrow rows", make_narrow, 1, 0, 1, 1},
    {"gaps", make_gaps, 3000, 0, 1, 1},
    {"few spans", make_few, 1, 3, 0, 3},
    {"irregular", make_irregular, 1, 0, 1, 8},
    {"irregular, many", make_irregular, 70, 0, 1, 560},
    {"odd", make_odd, 50, 0, 1, 400},
    {"backwards", make_backwards, 4, 0, 1, 80},
    {"nested", make_nested, 2, 0, 1, 96},
    {"struct", make_struct, 1, 0, 1, 66},
    {"struct, many", make_struct, 2, 0, 1, 132},
};

/* While it is filled. */
struct map {
    ptrdiff_t *at;
    size_t next;
};

static int note(void *arg, const struct mgds_span *span, size_t packed)
{
    struct map *map = (struct map *)arg;

    assert_int_equal(packed, map->next);
    for (size_t row = 0; row < span->planes * span->rows; row++) {
        ptrdiff_t at = span->offset +
                       (ptrdiff_t)(row / span->rows) * span->slice +
                       (ptrdiff_t)(row % span->rows) * span->pitch;

        for (size_t i = 0; i < span->width; i++)
            map->at[map->next++] = at + (ptrdiff_t)i;
    }
    return 0;
}

ptrdiff_t *stage_map_of(struct mgds_layout *layout, size_t count)
{
    struct mgds_layout *all;
    struct map map = {0};

    assert_int_equal(mgds_layout_repeat(&all, layout, count), 0);
    map.at = (ptrdiff_t *)malloc((all->size + 1) * sizeof(*map.at));
    assert_non_null(map.at);
    assert_int_equal(mgds_layout_walk(all, 0, SIZE_MAX, note, &map), 0);
    assert_int_equal(map.next, all->size);
    mgds_layout_put(all);
    return map.at;
}
