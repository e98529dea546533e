/* What a completion call does with receives whose handles are our own
 * (own_handle.h). */
#include "tests/mpi/wave_played.h"

#include "shim/pmpi/direct_arm.h"
#include "shim/pmpi/grequest.h"

/* With a handle of our own; what it brought comes from there. */
static void add_own(struct fate *fate, MPI_Request handle, int source)
{
    played_add(fate, &played_greq_ops, handle);
    fate->request->status.MPI_SOURCE = source;
}

static void finish_own(struct fate *fate, int error)
{
    mgds_request_step(fate->request, MGDS_REQUEST_ON_FINISH);
    fate->request->error = error;
}

/* The call below is given nothing for them, and knows nothing of them. */
static void own_ones_are_completed_behind_the_call(void **state)
{
    static struct fate first, second;
    MPI_Request requests[] = {OWN, MPI_REQUEST_NULL, OWN_TOO};
    MPI_Status statuses[3] = {{.MPI_ERROR = 77}};
    struct mgds_wave wave;

    (void)state;
    add_own(&first, OWN, 7);
    add_own(&second, OWN_TOO, 8);
    assert_int_equal(
        mgds_wave_init(&wave, requests, 3, statuses, MGDS_WAVE_ALL), 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wave.requests[i], MPI_REQUEST_NULL);
    assert_true(mgds_wave_is_held(&wave));
    finish_own(&first, MPI_SUCCESS);
    assert_true(mgds_wave_is_held(&wave));
    finish_own(&second, MPI_ERR_TRUNCATE);
    assert_false(mgds_wave_is_held(&wave));
    assert_int_equal(requests[0], OWN);
    assert_int_equal(mgds_wave_settle_many(&wave, 3, NULL, MPI_SUCCESS),
                     MPI_ERR_IN_STATUS);
    mgds_wave_fini(&wave);
    assert_int_equal(requests[0], MPI_REQUEST_NULL);
    assert_int_equal(requests[2], MPI_REQUEST_NULL);
    assert_int_equal(statuses[0].MPI_SOURCE, 7);
    assert_int_equal(statuses[0].MPI_ERROR, MPI_SUCCESS);
    assert_int_equal(statuses[2].MPI_SOURCE, 8);
    assert_int_equal(statuses[2].MPI_ERROR, MPI_ERR_TRUNCATE);
    assert_int_equal(first.released + second.released, 2);
}

/* A call that could not complete all leaves them to the next. */
static void own_ones_are_kept_by_a_call_that_fails(void **state)
{
    static struct fate own;
    MPI_Request requests[] = {OWN, ONE};
    struct mgds_wave wave;

    (void)state;
    add_own(&own, OWN, 7);
    finish_own(&own, MPI_SUCCESS);
    played_begin(&wave, requests, 2, 1);
    assert_int_equal(mgds_wave_settle_many(&wave, 0, NULL, MPI_ERR_REQUEST),
                     MPI_ERR_REQUEST);
    mgds_wave_fini(&wave);
    assert_int_equal(requests[0], OWN);
    assert_true(played_is_there(&own));
}

/* Where a call picks what stands for it goes down, and the program's handle
 * stays until that is complete. */
static void an_own_one_is_shown_to_a_call_that_picks(void **state)
{
    static struct fate own;
    MPI_Request requests[] = {OWN, ONE};
    MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
    struct mgds_wave wave;

    (void)state;
    add_own(&own, OWN, 7);
    for (int lap = 0; lap < 2; lap++) {
        assert_int_equal(
            mgds_wave_init(&wave, requests, 2, &status, MGDS_WAVE_PICK), 1);
        assert_int_equal(wave.requests[0], GREQ);
        assert_int_equal(wave.requests[1], ONE);
        mgds_wave_step(&wave);
        if (lap == 1)
            wave.requests[0] = MPI_REQUEST_NULL;
        mgds_wave_settle_one(&wave, lap == 1 ? 0 : -1, MPI_SUCCESS);
        mgds_wave_fini(&wave);
        assert_int_equal(requests[0], lap == 1 ? MPI_REQUEST_NULL : OWN);
        assert_int_equal(requests[1], ONE);
    }
}

static struct fate completed; /* by the handler */

static void complete_own(void)
{
    MPI_Status status;

    finish_own(&completed, MPI_SUCCESS);
    assert_true(mgds_grequest_take(completed.request, &status));
    mgds_request_put(completed.request);
}

static void an_own_one_that_a_handler_completes_is_nothing(void **state)
{
    MPI_Request request = OWN;
    struct mgds_wave wave;

    (void)state;
    add_own(&completed, OWN, 7);
    played_handler = complete_own;
    played_begin(&wave, &request, 1, 1);
    assert_true(mgds_wave_drive_all(&wave));
    assert_false(mgds_wave_is_held(&wave));
    assert_int_equal(mgds_wave_settle_many(&wave, 1, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(completed.released, 1);
}

/* The handler runs in the step of a receive that is none of the call's. */
static void a_shown_one_that_a_handler_completes_goes_down_no_more(void **state)
{
    MPI_Request request = OWN;
    MPI_Status status;
    struct mgds_wave wave;

    (void)state;
    add_own(&completed, OWN, 7);
    assert_int_equal(
        mgds_wave_init(&wave, &request, 1, &status, MGDS_WAVE_PICK), 1);
    assert_int_equal(wave.requests[0], GREQ);
    mgds_direct_is_armed = true;
    played_handler_beside = complete_own;
    mgds_wave_step(&wave);
    mgds_direct_is_armed = false;
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    mgds_wave_settle_one(&wave, -1, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(completed.released, 1);
}

static struct fate shown; /* by the handler */

static void show_own(void)
{
    assert_int_equal(mgds_grequest_show(shown.request), 0);
}

/* From then on the call below has to know it. */
static void one_that_a_handler_shows_goes_down(void **state)
{
    MPI_Request requests[] = {OWN, ONE};
    struct mgds_wave wave;

    (void)state;
    add_own(&shown, OWN, 7);
    played_handler = show_own;
    played_begin(&wave, requests, 2, 1);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_true(mgds_wave_drive(&wave));
    assert_int_equal(wave.requests[0], GREQ);
    wave.requests[0] = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    assert_true(played_is_there(&shown)); /* the MPI below lets go of it */
    assert_int_equal(requests[0], MPI_REQUEST_NULL);
    mgds_wave_fini(&wave);
}

static MPI_Request array[2];
static struct fate fresh; /* of the handler's */

static void put_fresh(void)
{
    add_own(&fresh, OWN_TOO, 9);
    array[1] = OWN_TOO;
}

static void a_fresh_one_is_waited_for(void **state)
{
    static struct fate first;
    MPI_Status statuses[2] = {{.MPI_ERROR = 77}, {.MPI_ERROR = 77}};
    struct mgds_wave wave;

    (void)state;
    array[0] = GREQ;
    array[1] = ONE;
    played_add(&first, &played_greq_ops, GREQ);
    played_handler = put_fresh;
    assert_int_equal(mgds_wave_init(&wave, array, 2, statuses, MGDS_WAVE_ALL),
                     1);
    assert_false(mgds_wave_drive(&wave));
    finish_own(&fresh, MPI_SUCCESS);
    assert_true(mgds_wave_drive(&wave));
    assert_int_equal(wave.requests[1], MPI_REQUEST_NULL);
    assert_int_equal(mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(array[1], MPI_REQUEST_NULL);
    assert_int_equal(statuses[1].MPI_SOURCE, 9);
    assert_int_equal(statuses[1].MPI_ERROR, MPI_SUCCESS);
}

static MPI_Request in_place; /* of the request that the handler completes */

static void complete_and_put(void)
{
    complete_own();
    array[0] = in_place;
}

static void begin_replaced(struct mgds_wave *wave, MPI_Request put)
{
    add_own(&completed, OWN, 7);
    array[0] = OWN;
    array[1] = MPI_REQUEST_NULL;
    in_place = put;
    played_handler = complete_and_put;
    played_begin(wave, array, 2, 1);
}

/* It was the only one of ours. */
static void one_of_mpis_in_the_place_of_an_own_one_goes_down(void **state)
{
    struct mgds_wave wave;

    (void)state;
    begin_replaced(&wave, ONE);
    assert_true(mgds_wave_drive_all(&wave));
    assert_int_equal(wave.requests[0], ONE);
    wave.requests[0] = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(array[0], MPI_REQUEST_NULL);
    assert_int_equal(completed.released, 1);
}

static void a_send_in_the_place_of_an_own_one_is_over(void **state)
{
    static struct fate send;
    struct mgds_wave wave;

    (void)state;
    played_add(&send, &played_send_ops, ONE);
    begin_replaced(&wave, ONE);
    assert_true(mgds_wave_drive_all(&wave));
    wave.requests[0] = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(send.released, 1);
}

/* It was begun before the call. */
static void an_own_one_in_the_place_of_another_is_waited_for(void **state)
{
    struct mgds_wave wave;

    (void)state;
    add_own(&fresh, OWN_TOO, 9);
    begin_replaced(&wave, OWN_TOO);
    assert_false(mgds_wave_drive(&wave));
    finish_own(&fresh, MPI_SUCCESS);
    assert_true(mgds_wave_drive(&wave));
    assert_int_equal(mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(array[0], MPI_REQUEST_NULL);
    assert_int_equal(fresh.released, 1);
}

static void put_older(void)
{
    array[1] = OWN_TOO;
}

/* Beside one that goes on. */
static void an_older_one_that_a_handler_puts_is_waited_for(void **state)
{
    static struct fate first;
    struct mgds_wave wave;

    (void)state;
    add_own(&first, OWN, 7);
    add_own(&fresh, OWN_TOO, 9);
    array[0] = OWN;
    array[1] = ONE;
    played_handler = put_older;
    played_begin(&wave, array, 2, 1);
    assert_false(mgds_wave_drive(&wave));
    finish_own(&first, MPI_SUCCESS);
    assert_false(mgds_wave_drive(&wave));
    finish_own(&fresh, MPI_SUCCESS);
    assert_true(mgds_wave_drive(&wave));
    assert_int_equal(wave.requests[1], MPI_REQUEST_NULL);
    mgds_wave_settle_many(&wave, 0, NULL, MPI_ERR_REQUEST);
    mgds_wave_fini(&wave);
}

/* The call below says nothing of the error of what it was not given. */
static void own_ones_end_well_where_others_fail(void **state)
{
    static struct fate own;
    MPI_Request requests[] = {OWN, ONE};
    MPI_Status statuses[2] = {{.MPI_ERROR = 77},
                              {.MPI_ERROR = MPI_ERR_TRUNCATE}};
    struct mgds_wave wave;

    (void)state;
    add_own(&own, OWN, 7);
    finish_own(&own, MPI_SUCCESS);
    assert_int_equal(
        mgds_wave_init(&wave, requests, 2, statuses, MGDS_WAVE_ALL), 1);
    wave.requests[1] = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_many(&wave, 2, NULL, MPI_ERR_IN_STATUS),
                     MPI_ERR_IN_STATUS);
    mgds_wave_fini(&wave);
    assert_int_equal(statuses[0].MPI_ERROR, MPI_SUCCESS);
    assert_int_equal(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    assert_int_equal(requests[1], MPI_REQUEST_NULL);
}

/* While the call below runs. */
static void what_a_handler_puts_into_the_array_stays(void **state)
{
    static struct fate own;
    MPI_Request requests[] = {OWN, ONE, TWO};
    struct mgds_wave wave;

    (void)state;
    add_own(&own, OWN, 7);
    finish_own(&own, MPI_SUCCESS);
    played_begin(&wave, requests, 3, 1);
    requests[1] = THREE;
    wave.requests[1] = wave.requests[2] = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_many(&wave, 3, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(requests[0], MPI_REQUEST_NULL);
    assert_int_equal(requests[1], THREE);
    assert_int_equal(requests[2], MPI_REQUEST_NULL);
}

/* It may tell of an error of others while these are not complete. */
static void a_call_that_tests_all_is_shown_them_beside_others(void **state)
{
    static struct fate own;
    MPI_Request requests[] = {MPI_REQUEST_NULL, OWN};
    struct mgds_wave wave;

    (void)state;
    add_own(&own, OWN, 7);
    for (int others = 0; others < 2; others++) {
        requests[0] = others ? ONE : MPI_REQUEST_NULL;
        assert_int_equal(mgds_wave_init(&wave, requests, 2, MPI_STATUSES_IGNORE,
                                        MGDS_WAVE_TEST),
                         1);
        assert_int_equal(wave.requests[1], others ? GREQ : MPI_REQUEST_NULL);
        assert_int_equal(mgds_wave_is_held(&wave), !others);
        mgds_wave_settle_many(&wave, 0, NULL, MPI_SUCCESS);
        mgds_wave_fini(&wave);
        assert_int_equal(requests[1], OWN);
    }
}

/* MPI may have to be asked about the others, and is to know of these then; but
 * not of those that are done. */
static void own_ones_that_take_long_are_shown_beside_others(void **state)
{
    static struct fate slow, quick;
    MPI_Request requests[] = {OWN, ONE, OWN_TOO};
    struct mgds_wave wave;

    (void)state;
    add_own(&slow, OWN, 7);
    add_own(&quick, OWN_TOO, 8);
    finish_own(&quick, MPI_SUCCESS);
    played_begin(&wave, requests, 3, 2);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_false(mgds_wave_drive_all(&wave));
    assert_int_equal(wave.requests[0], GREQ);
    assert_true(slow.request->stepped);
    assert_int_equal(wave.requests[1], ONE);
    assert_int_equal(wave.requests[2], MPI_REQUEST_NULL);
    assert_false(mgds_wave_is_held(&wave));
    assert_int_equal(requests[0], OWN);
    wave.requests[0] = wave.requests[1] = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_many(&wave, 3, NULL, MPI_SUCCESS),
                     MPI_SUCCESS);
    mgds_wave_fini(&wave);
    for (int i = 0; i < 3; i++)
        assert_int_equal(requests[i], MPI_REQUEST_NULL);
    assert_int_equal(quick.released, 1);
}

/* The test of all has ended with an error of another. */
static void one_that_was_shown_stays_where_a_call_leaves_it(void **state)
{
    static struct fate slow;
    MPI_Request requests[] = {OWN, ONE};
    MPI_Status statuses[2];
    struct mgds_wave wave;

    (void)state;
    add_own(&slow, OWN, 7);
    assert_int_equal(
        mgds_wave_init(&wave, requests, 2, statuses, MGDS_WAVE_ALL), 1);
    assert_false(mgds_wave_drive_all(&wave));
    wave.requests[1] = MPI_REQUEST_NULL;
    statuses[0].MPI_ERROR = MPI_ERR_PENDING;
    statuses[1].MPI_ERROR = MPI_ERR_TRUNCATE;
    assert_int_equal(mgds_wave_settle_many(&wave, 2, NULL, MPI_ERR_IN_STATUS),
                     MPI_ERR_IN_STATUS);
    mgds_wave_fini(&wave);
    assert_int_equal(requests[0], OWN);
    assert_int_equal(requests[1], MPI_REQUEST_NULL);
    assert_int_equal(statuses[0].MPI_ERROR, MPI_ERR_PENDING);
    assert_true(played_is_there(&slow));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(own_ones_are_completed_behind_the_call,
                                  played_tear_down),
        cmocka_unit_test_teardown(own_ones_are_kept_by_a_call_that_fails,
                                  played_tear_down),
        cmocka_unit_test_teardown(an_own_one_is_shown_to_a_call_that_picks,
                                  played_tear_down),
        cmocka_unit_test_teardown(
            an_own_one_that_a_handler_completes_is_nothing, played_tear_down),
        cmocka_unit_test_teardown(
            a_shown_one_that_a_handler_completes_goes_down_no_more,
            played_tear_down),
        cmocka_unit_test_teardown(one_that_a_handler_shows_goes_down,
                                  played_tear_down),
        cmocka_unit_test_teardown(a_fresh_one_is_waited_for, played_tear_down),
        cmocka_unit_test_teardown(
            one_of_mpis_in_the_place_of_an_own_one_goes_down, played_tear_down),
        cmocka_unit_test_teardown(a_send_in_the_place_of_an_own_one_is_over,
                                  played_tear_down),
        cmocka_unit_test_teardown(
            an_own_one_in_the_place_of_another_is_waited_for, played_tear_down),
        cmocka_unit_test_teardown(
            an_older_one_that_a_handler_puts_is_waited_for, played_tear_down),
        cmocka_unit_test_teardown(
            own_ones_that_take_long_are_shown_beside_others, played_tear_down),
        cmocka_unit_test_teardown(
            one_that_was_shown_stays_where_a_call_leaves_it, played_tear_down),
        cmocka_unit_test_teardown(own_ones_end_well_where_others_fail,
                                  played_tear_down),
        cmocka_unit_test_teardown(what_a_handler_puts_into_the_array_stays,
                                  played_tear_down),
        cmocka_unit_test_teardown(
            a_call_that_tests_all_is_shown_them_beside_others,
            played_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
