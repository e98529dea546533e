/* When a receive with a handle of our own is shown to the MPI below, while a
 * thread makes a step of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <mpi.h>

#include "shim/gds/direct/pull.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_table.h"

enum { OWN = 0x2c000101, GENERAL = 0x6c000101 };

static struct mgds_request *receive;

/* The MPI below, as it is played. */

static int starts, completions;

static mgds_word start(mgds_word query, mgds_word let_go, mgds_word cancel,
                       mgds_word state, mgds_word request)
{
    assert_true(query && let_go && cancel);
    assert_ptr_equal((void *)state, receive);
    starts++;
    *(MPI_Request *)request = GENERAL;
    return MPI_SUCCESS;
}

/* Without extensions. */
const struct mgds_below *mgds_below(void)
{
    static const struct mgds_below below;

    return &below;
}

/* An error handler of the program's runs in it, and cancels the receive. */
static mgds_word test(mgds_word request, mgds_word flag, mgds_word status)
{
    (void)request;
    (void)status;
    assert_int_equal(mgds_grequest_show(receive), 0);
    assert_int_equal(receive->general, GENERAL);
    *(int *)flag = 1;
    return MPI_SUCCESS;
}

static mgds_word complete(mgds_word request)
{
    assert_int_equal((MPI_Request)request, GENERAL);
    completions++;
    return MPI_SUCCESS;
}

mgds_next_fn *mgds_definitions[MGDS_CALLS][MGDS_FACES] = {
    [MGDS_CALL_Grequest_start] = {[MGDS_FACE_PMPI] = (mgds_next_fn *)start},
    [MGDS_CALL_Test] = {[MGDS_FACE_PMPI] = (mgds_next_fn *)test},
    [MGDS_CALL_Grequest_complete] = {[MGDS_FACE_PMPI] =
                                         (mgds_next_fn *)complete}};

mgds_next_fn *mgds_next_find(enum mgds_call call, enum mgds_face face)
{
    (void)call;
    (void)face;
    fail_msg("nothing else is asked of the MPI below");
    return NULL;
}

static int looks; /* at the network, until the other thread's step ends */

void mgds_below_progress(void)
{
    if (looks > 0 && --looks == 0)
        receive->claimed = NULL;
}

MPI_Count mgds_below_bytes(const MPI_Status *status)
{
    (void)status;
    return 0;
}

bool mgds_below_was_cancelled(const MPI_Status *status)
{
    (void)status;
    return false;
}

int mgds_mpi_class(int rc)
{
    return rc < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int mgds_mpi_error(MPI_Comm comm, int rc)
{
    (void)comm;
    return mgds_mpi_class(rc);
}

struct mgds_inside mgds_frame_step_out(void)
{
    return (struct mgds_inside){.stack = 0};
}

void mgds_frame_step_in(const struct mgds_inside *kept)
{
    (void)kept;
}

void mgds_pull_batch_begin(void)
{
}

void mgds_pull_batch_end(void)
{
}

void mgds_pull_batch_flush(void)
{
}

static void release(struct mgds_request *request)
{
    assert_ptr_equal(request, receive);
}

static const struct mgds_request_ops ops = {.kind = MGDS_REQUEST_IS_GENERALIZED,
                                            .lands_alone = true,
                                            .release = release};

static int set_up(void **state)
{
    (void)state;
    starts = completions = looks = 0;
    receive = mgds_request_new(sizeof(*receive), &ops, MPI_COMM_WORLD);
    assert_non_null(receive);
    receive->handle = OWN;
    mgds_request_step(receive, MGDS_REQUEST_ON_BEGIN);
    mgds_request_add(receive);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mgds_request_put(mgds_requests_take_any());
    return 0;
}

static void a_receive_is_shown_once(void **state)
{
    (void)state;
    assert_true(mgds_grequest_is_hidden(receive));
    assert_int_equal(mgds_grequest_show(receive), 0);
    assert_int_equal(mgds_grequest_show(receive), 0);
    assert_false(mgds_grequest_is_hidden(receive));
    assert_int_equal(starts, 1);
    assert_int_equal(completions, 0);
    assert_null(receive->claimed);
}

static void one_is_shown_from_inside_of_its_own_step(void **state)
{
    (void)state;
    assert_true(mgds_grequest_poll(receive));
    assert_int_equal(starts, 1);
    assert_int_equal(completions, 1);
    assert_null(receive->claimed);
}

static void who_waits_for_anothers_step_makes_progress(void **state)
{
    static const char other_thread;

    (void)state;
    looks = 3;
    receive->claimed = &other_thread;
    assert_int_equal(mgds_grequest_show(receive), 0);
    assert_int_equal(looks, 0);
    assert_int_equal(starts, 1);
    assert_null(receive->claimed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_receive_is_shown_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            one_is_shown_from_inside_of_its_own_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            who_waits_for_anothers_step_makes_progress, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
