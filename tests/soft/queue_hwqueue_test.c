/* How many streams wait, and the one line when a GPU is nearly full of them:
 * with CUDA_DEVICE_MAX_CONNECTIONS=4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/config.h"
#include "shim/gds/stream/hwqueue.h"
#include "tests/lib/capture.h"
#include "tests/soft/queue_place.h"

enum { STREAMS = 3 };

static void streams_that_wait_are_counted_and_told_once(void **state)
{
    struct queue_stream stream[STREAMS];
    struct mgds_command wait;
    uint64_t *line;
    char *text;

    (void)state;
    for (int i = 0; i < STREAMS; i++)
        queue_open(&stream[i], CU_STREAM_NON_BLOCKING);
    line = queue_take(stream[0].gstream);
    wait = queue_wait(line, 1);
    mgds_capture_start(MGDS_LOG_WARN);
    queue_put(stream[0].gstream, &wait, 1);
    queue_put(stream[0].gstream, &wait, 1); /* the same stream once more */
    assert_int_equal(mgds_hwqueue_count(0), 1);
    text = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(text), 0);
    free(text);
    mgds_capture_start(MGDS_LOG_WARN);
    queue_put(stream[1].gstream, &wait, 1);
    assert_int_equal(mgds_hwqueue_count(0), 2);
    queue_put(stream[2].gstream, &wait, 1);
    assert_int_equal(mgds_hwqueue_count(0), 3);
    text = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(text), 1);
    assert_non_null(strstr(text, "CUDA_DEVICE_MAX_CONNECTIONS=32"));
    free(text);
    queue_write(line, 1);
    mgds_gstream_passed(stream[0].gstream, 1);
    assert_int_equal(mgds_hwqueue_count(0), 3);
    for (int i = 0; i < STREAMS; i++)
        mgds_gstream_passed(stream[i].gstream, 1);
    assert_int_equal(mgds_hwqueue_count(0), 0);
    for (int i = STREAMS - 1; i > 0; i--)
        queue_close(&stream[i]);
    OK(cu.cuStreamSynchronize(stream[0].native));
    queue_give(stream[0].gstream, line);
    queue_close(&stream[0]);
}

static void the_users_number_stays(void **state)
{
    (void)state;
    assert_int_equal(mgds_config_connections(), 4);
    mgds_config_raise_connections();
    assert_int_equal(mgds_config_connections(), 4);
    assert_int_equal(unsetenv("CUDA_DEVICE_MAX_CONNECTIONS"), 0);
    assert_int_equal(mgds_config_connections(), 0);
    mgds_hwqueue_prepare(); /* too late: CUDA is in the process */
    assert_int_equal(mgds_config_connections(), 0);
    mgds_config_raise_connections();
    assert_int_equal(mgds_config_connections(), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_that_wait_are_counted_and_told_once),
        cmocka_unit_test(the_users_number_stays),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
