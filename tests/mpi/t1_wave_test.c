/* What a completion call does to the table of staged requests when the MPI
 * below gives a handle to another thread before it returns (T1), and when error
 * handlers change requests meanwhile. */
#include "tests/mpi/wave_played.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"

static void nothing(struct mgds_request *request)
{
    (void)request;
}

static void a_completed_send_is_over(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate entry;

    (void)state;
    played_add(&entry, &played_send_ops, ONE);
    played_begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_one(&wave, 0, MPI_SUCCESS), MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(entry.released, 1);
    assert_int_equal(mgds_requests_look(ONE).kind, 0);
}

static void a_send_that_is_not_complete_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate entry;

    (void)state;
    played_add(&entry, &played_send_ops, ONE);
    played_begin(&wave, &request, 1, 1);
    mgds_wave_settle_one(&wave, -1, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(entry.released, 0);
    assert_true(played_is_there(&entry));
}

/* By a call that tells one: Wait, Test, Waitany, Testany. */
static void anothers_send_with_the_handle_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate mine, other;

    (void)state;
    played_add(&mine, &played_send_ops, ONE);
    played_begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL; /* below; and another thread's MPI_Isend: */
    played_add(&other, &played_send_ops, ONE);
    assert_int_equal(mine.released, 1);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(mine.released, 1);
    assert_int_equal(other.released, 0);
    assert_true(played_is_there(&other));
}

/* By one that tells many, of which the last is not complete. */
static void each_of_many_is_its_own(void **state)
{
    MPI_Request requests[] = {ONE, TWO, THREE};
    const int indices[] = {1, 0};
    struct mgds_wave wave;
    static struct fate mine[3], other;

    (void)state;
    for (int i = 0; i < 3; i++)
        played_add(&mine[i], &played_send_ops, requests[i]);
    played_begin(&wave, requests, 3, 3);
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    played_add(&other, &played_send_ops, TWO);
    mgds_wave_settle_many(&wave, 2, indices, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mine[i].released, i < 2);
    assert_int_equal(other.released, 0);
    assert_true(played_is_there(&other) && played_is_there(&mine[2]));
    assert_int_equal(mgds_requests_look(ONE).kind, 0);
}

/* The handle comes back as one of another kind. */
static void anothers_persistent_request_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate mine, other;

    (void)state;
    played_add(&mine, &played_send_ops, ONE);
    played_begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL;
    played_add(&other, &played_persistent_ops, ONE);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_true(played_is_there(&other));
    assert_int_equal(other.landed, 0);
    assert_int_equal(other.request->state, MGDS_REQUEST_ACTIVE);
}

/* MPI's error handler frees it at the end of the call below. */
static void a_persistent_request_that_a_handler_frees_is_left(void **state)
{
    MPI_Request requests[] = {ONE, TWO};
    struct mgds_wave wave;
    static struct fate mine, other;

    (void)state;
    played_add(&mine, &played_persistent_ops, ONE);
    played_add(&other, &played_persistent_ops, TWO);
    played_begin(&wave, requests, 2, 2);
    mgds_requests_remove(mine.request);
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(mine.landed, 0);
    assert_int_equal(mine.request->state, MGDS_REQUEST_ACTIVE);
    mgds_request_put(mine.request);
    assert_int_equal(other.landed, 1);
    assert_int_equal(other.request->state, MGDS_REQUEST_INACTIVE);
}

/* A handler waits for the send, and sends anew from its place. */

static struct fate replaced, replacing;

static void replace(void)
{
    struct mgds_request_seen seen = mgds_requests_look(ONE);

    assert_non_null(mgds_requests_take_send(ONE, seen.serial));
    played_add(&replacing, &played_send_ops, ONE);
}

static void a_send_that_a_handler_puts_in_its_place_is_over(void **state)
{
    static struct fate greq;
    MPI_Request requests[] = {ONE, GREQ};
    struct mgds_wave wave;

    (void)state;
    played_add(&replaced, &played_send_ops, ONE);
    played_add(&greq, &played_greq_ops, GREQ);
    played_handler = replace;
    played_begin(&wave, requests, 2, 2);
    mgds_wave_drive_all(&wave);
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(replaced.released, 0); /* it is the handler's */
    assert_int_equal(replacing.released, 1);
    assert_int_equal(greq.request->refs, 1);
    mgds_request_put(replaced.request);
}

/* A template, ONE, with what it has started, GREQ, or nothing. */

static struct mgds_stream_persist *template;
static const struct mgds_request_ops template_ops = {
    .kind = MGDS_REQUEST_IS_TEMPLATE, .release = nothing};

static void add_template(struct fate *greq)
{
    template =
        mgds_request_new(sizeof(*template), &template_ops, MPI_COMM_WORLD);
    assert_non_null(template);
    template->request.handle = ONE;
    mgds_request_step(&template->request, MGDS_REQUEST_ON_INIT);
    mgds_request_add(&template->request);
    if (!greq)
        return;
    played_add(greq, &played_greq_ops, GREQ);
    template->current = (struct mgds_stream_req *)greq->request;
}

/* The caller's array keeps the persistent handle, and loses others. */
static void a_template_has_a_stand_in(void **state)
{
    static struct fate greq, sent;
    MPI_Request requests[] = {TWO, ONE};
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    played_add(&sent, &played_send_ops, TWO);
    played_begin(&wave, requests, 2, 2);
    assert_int_equal(wave.requests[0], TWO);
    assert_int_equal(wave.requests[1], GREQ);
    wave.requests[0] = wave.requests[1] = MPI_REQUEST_NULL;
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(requests[0], MPI_REQUEST_NULL);
    assert_int_equal(requests[1], ONE);
    assert_int_equal(sent.released, 1);
    assert_int_equal(greq.request->refs, 1);
    assert_int_equal(template->request.refs, 1);
}

/* What no stream communicator has is none of a group's affairs. */
static void only_streams_requests_flush(void **state)
{
    static struct fate greq, sent;
    MPI_Request send = TWO, generalized = GREQ;
    struct mgds_wave wave;

    (void)state;
    played_add(&sent, &played_send_ops, TWO);
    played_add(&greq, &played_greq_ops, GREQ);
    played_flushes = 0;
    played_begin(&wave, &send, 1, 1);
    mgds_wave_fini(&wave);
    assert_int_equal(played_flushes, 0);
    played_begin(&wave, &generalized, 1, 1);
    mgds_wave_fini(&wave);
    assert_int_equal(played_flushes, 1);
}

static void an_inactive_template_is_nothing(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(NULL);
    played_begin(&wave, &request, 1, 1);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_int_equal(wave.held, 0);
    assert_true(mgds_wave_drive(&wave));
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(request, ONE);
}

/* A stream has some of it: nothing stands for it until the stream has passed.
 */
static void a_held_template_is_waited_for(void **state)
{
    static struct fate greq;
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    played_busy_looks = 3;
    played_flushes = 0;
    played_begin(&wave, &request, 1, 1);
    assert_int_equal(played_flushes, 1);
    assert_int_equal(wave.held, 1);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_false(mgds_wave_drive(&wave));
    mgds_wave_drive_all(&wave);
    assert_int_equal(played_busy_looks, 0);
    assert_int_equal(wave.held, 0);
    assert_int_equal(wave.requests[0], GREQ);
    mgds_wave_fini(&wave);
    assert_int_equal(greq.request->refs, 1);
}

/* Without memory for it a call fails before it has done anything; one that
 * waits goes on waiting. */
static void memory_for_a_stand_in_may_be_short(void **state)
{
    static struct fate greq;
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    played_shortage = 1;
    played_begin(&wave, &request, 1, -ENOMEM);
    assert_int_equal(template->request.refs, 1);
    played_busy_looks = 1;
    played_shortage = 2;
    played_begin(&wave, &request, 1, 1);
    assert_int_equal(wave.held, 1);
    mgds_wave_drive_all(&wave);
    assert_int_equal(played_shortage, 0);
    assert_int_equal(wave.requests[0], GREQ);
    mgds_wave_fini(&wave);
}

/* By a handler, while the call goes on. */
static void let_template_go(void)
{
    mgds_requests_remove(&template->request);
    template->current = NULL;
    mgds_request_put(&template->request);
}

static void a_template_that_a_handler_frees_is_nothing(void **state)
{
    static struct fate greq;
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    played_handler = let_template_go;
    played_begin(&wave, &request, 1, 1);
    mgds_wave_drive_all(&wave);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_int_equal(greq.request->refs, 1);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave); /* has the last reference */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_completed_send_is_over, played_tear_down),
        cmocka_unit_test_teardown(a_send_that_is_not_complete_stays,
                                  played_tear_down),
        cmocka_unit_test_teardown(anothers_send_with_the_handle_stays,
                                  played_tear_down),
        cmocka_unit_test_teardown(each_of_many_is_its_own, played_tear_down),
        cmocka_unit_test_teardown(anothers_persistent_request_stays,
                                  played_tear_down),
        cmocka_unit_test_teardown(
            a_persistent_request_that_a_handler_frees_is_left,
            played_tear_down),
        cmocka_unit_test_teardown(
            a_send_that_a_handler_puts_in_its_place_is_over, played_tear_down),
        cmocka_unit_test_teardown(a_template_has_a_stand_in, played_tear_down),
        cmocka_unit_test_teardown(only_streams_requests_flush,
                                  played_tear_down),
        cmocka_unit_test_teardown(an_inactive_template_is_nothing,
                                  played_tear_down),
        cmocka_unit_test_teardown(a_held_template_is_waited_for,
                                  played_tear_down),
        cmocka_unit_test_teardown(memory_for_a_stand_in_may_be_short,
                                  played_tear_down),
        cmocka_unit_test_teardown(a_template_that_a_handler_frees_is_nothing,
                                  played_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
