/* Staged buffers on the software GPU: every kind of layout both ways, in both
 * forms, with no more copies than promised. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/stage/bounce.h"
#include "shim/gds/stage/stage.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_door.h"
#include "tests/soft/stage_place.h"

static int finish(void **state)
{
    (void)state;
    mgds_stage_fini();
    mgds_defer_drain();
    return 0;
}

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

/* Members of a layout never overlap here: they are written too. Layouts, and
 * what one whole copy of their count takes with kernels and
 * without. */
struct kind {
    const char *name;
    struct mgds_layout *(*make)(void);
    size_t count;
    unsigned copies, launches;
    unsigned alone; /* copies without kernels */
};

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

static const struct kind kinds[] = {
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

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Where each packed byte of count elements lies, from the buffer's address. */
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

static ptrdiff_t *map_of(struct mgds_layout *layout, size_t count)
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

/* One staged buffer under test. */
struct job {
    struct stage_place place;
    ptrdiff_t *at;
    size_t size;
    struct mgds_bounce *bounce;
    enum mgds_bounce_form form;
};

static unsigned char *host_byte(const struct job *job, size_t packed)
{
    unsigned char *base = (unsigned char *)mgds_bounce_base(job->bounce);
    ptrdiff_t at =
        job->form == MGDS_BOUNCE_MIRROR ? job->at[packed] : (ptrdiff_t)packed;

    return base + at;
}

static void fill_host(struct job *job, unsigned char with)
{
    for (size_t i = 0; i < job->size; i++)
        *host_byte(job, i) = (unsigned char)(with + i * 5);
}

static void check_down(struct job *job, size_t first, size_t bytes)
{
    size_t end = bytes > job->size - first ? job->size : first + bytes;

    fill_host(job, 0xee);
    assert_int_equal(mgds_bounce_down(job->bounce, first, bytes), 0);
    assert_int_equal(mgds_bounce_wait(job->bounce, NULL), 0);
    assert_int_equal(mgds_bounce_poll(job->bounce), 1);
    for (size_t i = 0; i < job->size; i++) {
        unsigned char want = i >= first && i < end
                                 ? job->place.want[ORIGIN + job->at[i]]
                                 : (unsigned char)(0xee + i * 5);

        assert_int_equal(*host_byte(job, i), want);
    }
}

/* Polls, as who drives a request does. */
static void finish_polling(struct mgds_bounce *bounce)
{
    int rc;

    do
        rc = mgds_bounce_poll(bounce);
    while (rc == 0);
    assert_int_equal(rc, 1);
}

static void check_up(struct job *job, size_t first, size_t bytes,
                     unsigned char with)
{
    size_t end = bytes > job->size - first ? job->size : first + bytes;

    fill_host(job, with);
    for (size_t i = first; i < end; i++)
        job->place.want[ORIGIN + job->at[i]] = *host_byte(job, i);
    assert_int_equal(mgds_bounce_up(job->bounce, first, bytes), 0);
    finish_polling(job->bounce);
    stage_assert_place(&job->place);
}

/* Whether kernels may be used: pinned memory and a door. */
static bool with_kernels;

static void check_counts(const struct kind *kind, struct job *job)
{
    uint64_t copies = mgds_stats_value(MGDS_STAT_stage_copies);
    uint64_t launches = mgds_stats_value(MGDS_STAT_stage_launches);
    uint64_t split = mgds_stats_value(MGDS_STAT_stage_split);

    check_down(job, 0, SIZE_MAX);
    check_up(job, 0, SIZE_MAX, 0x31);
    copies = mgds_stats_value(MGDS_STAT_stage_copies) - copies;
    launches = mgds_stats_value(MGDS_STAT_stage_launches) - launches;
    split = mgds_stats_value(MGDS_STAT_stage_split) - split;
    if (with_kernels && (copies != 2 * (uint64_t)kind->copies ||
                         launches != 2 * (uint64_t)kind->launches || split))
        fail_msg("%s: %lu copies, %lu launches, %lu split", kind->name,
                 (unsigned long)copies, (unsigned long)launches,
                 (unsigned long)split);
    if (!with_kernels && (launches || copies != 2 * (uint64_t)kind->alone))
        fail_msg("%s without kernels: %lu copies, %lu launches", kind->name,
                 (unsigned long)copies, (unsigned long)launches);
}

static void check_kind(const struct kind *kind, enum mgds_bounce_form form)
{
    struct mgds_layout *layout = kind->make();
    struct job job = {.form = form, .size = layout->size * kind->count};
    struct mgds_buffer buffer;

    stage_open_place(&job.place);
    job.at = map_of(layout, kind->count);
    buffer = stage_buffer_at(job.place.gpu + ORIGIN, layout, kind->count);
    job.bounce = stage_bounce_of(&buffer, form);
    mgds_layout_put(layout);
    assert_int_equal(mgds_bounce_bytes(job.bounce), job.size);
    check_counts(kind, &job);
    check_down(&job, 3, 1);
    check_down(&job, job.size / 3, job.size / 2);
    check_up(&job, 0, job.size / 2 + 1, 0x77);
    check_up(&job, job.size / 4 + 1, job.size / 2, 0x12);
    check_up(&job, 0, 0, 0x99);
    check_up(&job, job.size, SIZE_MAX, 0x99);
    mgds_bounce_destroy(job.bounce);
    free(job.at);
    stage_close_place(&job.place);
}

static void check_all_kinds(void)
{
    for (int i = 0; i < KINDS; i++) {
        check_kind(&kinds[i], MGDS_BOUNCE_PACKED);
        check_kind(&kinds[i], MGDS_BOUNCE_MIRROR);
    }
}

static void layouts_are_staged_with_few_copies_or_one_launch(void **state)
{
    (void)state;
    with_kernels = mgds_ctx()->config.stage_pool > 0;
    check_all_kinds();
}

static void
without_the_kernel_regular_layouts_still_take_few_copies(void **state)
{
    static const struct mgds_pack_door *const doors[] = {&stage_door_refusing,
                                                         NULL};

    (void)state;
    with_kernels = false;
    for (int i = 0; i < 2; i++) {
        mgds_stage_fini();
        mgds_pack_use(doors[i]);
        check_all_kinds();
    }
    mgds_stage_fini();
    mgds_pack_use(&stage_door);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_staged_with_few_copies_or_one_launch),
        cmocka_unit_test(
            without_the_kernel_regular_layouts_still_take_few_copies),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, finish);
}
