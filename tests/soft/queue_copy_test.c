/* PACK and UNPACK of every kind of layout, with limits that are read when the
 * step runs: bytes from the limit on stay as they were. In memory of the
 * stream's context, of another GPU, and of another context of its GPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/soft/queue_place.h"
#include "tests/soft/stage_kinds.h"

static struct queue_stream stream;
static CUcontext memory_ctx; /* where places are; the stream's is current */

enum { LIMIT = 0, GO = 1, PASSED = 2 };

struct job {
    struct stage_place place;
    ptrdiff_t *at;
    size_t size, origin;
    struct mgds_bounce *bounce;
    uint64_t *line;
};

static unsigned char *packed(const struct job *job)
{
    return (unsigned char *)mgds_bounce_base(job->bounce);
}

static void check_pack(struct job *job)
{
    struct mgds_command steps[] = {queue_pack(job->bounce),
                                   queue_flag(&job->line[PASSED], 1)};

    for (size_t i = 0; i < job->size; i++)
        packed(job)[i] = 0xee;
    queue_write(&job->line[PASSED], 0);
    queue_put(stream.gstream, steps, 2);
    queue_await(&job->line[PASSED], 1);
    for (size_t i = 0; i < job->size; i++)
        assert_int_equal(packed(job)[i],
                         job->place.want[job->origin + (size_t)job->at[i]]);
}

/* The data and the limit come after the put, as those of a message do. */
static void check_unpack(struct job *job, uint64_t limit, unsigned char with)
{
    struct mgds_command steps[] = {queue_wait(&job->line[GO], 1),
                                   queue_unpack(job->bounce, &job->line[LIMIT]),
                                   queue_flag(&job->line[PASSED], 2)};

    queue_write(&job->line[GO], 0);
    queue_write(&job->line[LIMIT], UINT64_MAX);
    queue_write(&job->line[PASSED], 0);
    queue_put(stream.gstream, steps, 3);
    for (size_t i = 0; i < job->size; i++) {
        packed(job)[i] = (unsigned char)(with + i * 5);
        if (i < limit)
            job->place.want[job->origin + (size_t)job->at[i]] = packed(job)[i];
    }
    assert_int_equal(queue_read(&job->line[PASSED]), 0);
    queue_write(&job->line[LIMIT], limit);
    queue_write(&job->line[GO], 1);
    queue_await(&job->line[PASSED], 2);
    mgds_gstream_passed(stream.gstream, 1);
    stage_assert_place(&job->place);
}

static void open_job(struct job *job, struct mgds_layout *layout, size_t count)
{
    struct mgds_buffer buffer;

    job->size = layout->size * count;
    OK(cu.cuCtxSetCurrent(memory_ctx));
    stage_open_place(&job->place);
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    job->at = stage_map_of(layout, count);
    buffer = stage_buffer_at(job->place.gpu + job->origin, layout, count);
    assert_int_equal(mgds_gstream_bounce(&job->bounce, stream.gstream, &buffer),
                     0);
    job->line = queue_take(stream.gstream);
}

static void close_job(struct job *job)
{
    queue_give(stream.gstream, job->line);
    mgds_bounce_destroy(job->bounce);
    free(job->at);
    stage_close_place(&job->place);
}

static void check_layout(struct mgds_layout *layout, size_t count,
                         size_t origin)
{
    struct job job = {.origin = origin};
    size_t size;

    open_job(&job, layout, count);
    size = job.size;
    check_pack(&job);
    check_unpack(&job, 0, 0x11);
    check_unpack(&job, 1, 0x22);
    check_unpack(&job, size / 2 + 1, 0x33);
    check_unpack(&job, size > 17 ? size - 17 : 0, 0x44);
    check_unpack(&job, size - 1, 0x55);
    check_unpack(&job, size, 0x66);
    check_unpack(&job, size + 1, 0x77);
    check_unpack(&job, UINT64_MAX, 0x88);
    check_pack(&job);
    close_job(&job);
}

static void every_layout_is_packed_and_unpacked_up_to_the_limit(void **state)
{
    (void)state;
    for (int i = 0; i < STAGE_KINDS; i++) {
        struct mgds_layout *layout = stage_kinds[i].make();

        check_layout(layout, stage_kinds[i].count, ORIGIN);
        mgds_layout_put(layout);
    }
}

static void dense_buffers_of_any_size_and_place_are_cut_exactly(void **state)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 100, 8191};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct mgds_layout *layout = stage_bytes_of(sizes[i]);

        check_layout(layout, 1, ORIGIN + i % 3);
        mgds_layout_put(layout);
    }
}

/* More than the copy engine's threshold. */
static void large_dense_buffers_are_copied(void **state)
{
    struct mgds_layout *layout = stage_bytes_of(ROOM);
    struct job job = {.origin = 0};

    (void)state;
    open_job(&job, layout, 1);
    check_pack(&job);
    check_unpack(&job, ROOM / 3, 0x21);
    check_unpack(&job, ROOM, 0x32);
    close_job(&job);
    mgds_layout_put(layout);
}

static void an_unpack_without_a_limit_is_whole(void **state)
{
    struct mgds_layout *layout = stage_bytes_of(8);
    struct job job = {.origin = ORIGIN};
    struct mgds_command step;

    (void)state;
    open_job(&job, layout, 100);
    step = queue_unpack(job.bounce, NULL);
    for (size_t i = 0; i < job.size; i++)
        job.place.want[ORIGIN + i] = packed(&job)[i] = (unsigned char)(i + 9);
    queue_put(stream.gstream, &step, 1);
    OK(cu.cuStreamSynchronize(stream.native));
    stage_assert_place(&job.place);
    close_job(&job);
    mgds_layout_put(layout);
}

static void buffers_without_bytes_do_nothing(void **state)
{
    struct mgds_layout *layout = stage_bytes_of(8);
    struct job job = {.origin = ORIGIN};
    struct mgds_command steps[2];

    (void)state;
    open_job(&job, layout, 0);
    steps[0] = queue_pack(job.bounce);
    steps[1] = queue_unpack(job.bounce, &job.line[LIMIT]);
    queue_write(&job.line[LIMIT], 100);
    queue_put(stream.gstream, steps, 2);
    OK(cu.cuStreamSynchronize(stream.native));
    stage_assert_place(&job.place);
    close_job(&job);
    mgds_layout_put(layout);
}

static int start(void **state)
{
    stage_start(state);
    memory_ctx = stage_primary[0];
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    return 0;
}

static int start_far(void **state)
{
    start(state);
    memory_ctx = stage_primary[1];
    return 0;
}

static int start_beside(void **state)
{
    start(state);
    OK(cu.cuCtxCreate_v2(&memory_ctx, 0, 0));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    return 0;
}

static int finish(void **state)
{
    queue_close(&stream);
    return queue_finish(state);
}

static int finish_beside(void **state)
{
    int rc = finish(state);

    OK(cu.cuCtxDestroy_v2(memory_ctx));
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_is_packed_and_unpacked_up_to_the_limit),
        cmocka_unit_test(dense_buffers_of_any_size_and_place_are_cut_exactly),
        cmocka_unit_test(large_dense_buffers_are_copied),
        cmocka_unit_test(an_unpack_without_a_limit_is_whole),
        cmocka_unit_test(buffers_without_bytes_do_nothing),
    };
    const struct CMUnitTest beside[] = {
        cmocka_unit_test(dense_buffers_of_any_size_and_place_are_cut_exactly),
        cmocka_unit_test(large_dense_buffers_are_copied),
    };
    int failed;

    if (soft_cuda_load())
        return 1;
    failed = cmocka_run_group_tests_name("own memory", tests, start, finish);
    failed += cmocka_run_group_tests_name("memory of another GPU", tests,
                                          start_far, finish);
    return failed + cmocka_run_group_tests_name("memory of another context",
                                                beside, start_beside,
                                                finish_beside);
}
