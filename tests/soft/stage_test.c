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
#include "shim/gds/mem/bounce.h"
#include "shim/gds/mem/copyqueue.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_door.h"
#include "tests/soft/stage_kinds.h"
#include "tests/soft/stage_place.h"

static int finish(void **state)
{
    (void)state;
    mgds_copyqueues_fini();
    mgds_defer_drain();
    return 0;
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

static void check_counts(const struct stage_kind *kind, struct job *job)
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

static void check_kind(const struct stage_kind *kind,
                       enum mgds_bounce_form form)
{
    struct mgds_layout *layout = kind->make();
    struct job job = {.form = form, .size = layout->size * kind->count};
    struct mgds_buffer buffer;

    stage_open_place(&job.place);
    job.at = stage_map_of(layout, kind->count);
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
    for (int i = 0; i < STAGE_KINDS; i++) {
        check_kind(&stage_kinds[i], MGDS_BOUNCE_PACKED);
        check_kind(&stage_kinds[i], MGDS_BOUNCE_MIRROR);
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
        mgds_copyqueues_fini();
        mgds_pack_use(doors[i]);
        check_all_kinds();
    }
    mgds_copyqueues_fini();
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
