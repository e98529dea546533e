/* What a completion call does to the table of staged requests when the MPI
 * below gives a handle to another thread before it returns (T1), and when error
 * handlers change requests meanwhile. The MPI below and generalized requests
 * are played. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/greq.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/staged.h"
#include "shim/pmpi/wave.h"

enum { ONE = 0x2c000101, TWO, THREE, GREQ };

/* Played. */

mgds_next_fn *mgds_definitions[MGDS_CALLS][MGDS_FACES];

mgds_next_fn *mgds_next_find(enum mgds_call call, enum mgds_face face)
{
    (void)call;
    (void)face;
    fail_msg("nothing is asked of the MPI below");
    return NULL;
}

void mgds_below_progress(void)
{
}

bool mgds_below_has_data(int error)
{
    return error == MPI_SUCCESS;
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

static void (*handler)(void); /* called from a step, once */

struct mgds_greq *mgds_greq_of(struct mgds_staged *staged)
{
    return staged && staged->ops->kind == MGDS_STAGED_GREQ
               ? (struct mgds_greq *)staged
               : NULL;
}

void mgds_greq_get(struct mgds_greq *greq)
{
    greq->refs++;
}

void mgds_greq_put(struct mgds_greq *greq)
{
    greq->refs--;
}

void mgds_greq_pass_begin(struct mgds_greq_pass *pass)
{
    pass->tested = true;
}

void mgds_greq_pass_step(struct mgds_greq_pass *pass, struct mgds_greq *greq)
{
    void (*now)(void) = handler;

    (void)pass;
    (void)greq;
    handler = NULL;
    if (now)
        now();
}

bool mgds_greq_pass_end(struct mgds_greq_pass *pass)
{
    (void)pass;
    return true;
}

struct mgds_greq *mgds_greq_watched(void)
{
    return NULL;
}

int mgds_greq_error(struct mgds_greq *greq)
{
    (void)greq;
    return MPI_SUCCESS;
}

/* Entries, and what became of them. Static, since a test's teardown takes what
 * is left of them out of the table. */

struct entry {
    struct mgds_staged staged; /* first */
    int destroyed, landed;
};

static void destroy(struct mgds_staged *staged)
{
    ((struct entry *)staged)->destroyed++;
}

static int landed(struct mgds_staged *staged, const MPI_Status *status)
{
    (void)status;
    ((struct entry *)staged)->landed++;
    return 0;
}

static int poll(struct mgds_staged *staged)
{
    (void)staged;
    return 1;
}

static const struct mgds_staged_ops send_ops = {.kind = MGDS_STAGED_SEND,
                                                .destroy = destroy};
static const struct mgds_staged_ops persistent_ops = {
    .kind = MGDS_STAGED_PERSISTENT,
    .landed = landed,
    .poll = poll,
    .destroy = destroy};
static const struct mgds_staged_ops greq_ops = {.kind = MGDS_STAGED_GREQ,
                                                .destroy = destroy};

static void add(struct entry *entry, const struct mgds_staged_ops *ops,
                MPI_Request handle)
{
    *entry = (struct entry){.staged = {.ops = ops,
                                       .handle = handle,
                                       .comm = MPI_COMM_WORLD,
                                       .state = MGDS_STAGED_ACTIVE}};
    mgds_staged_add(&entry->staged);
}

static bool is_there(const struct entry *entry)
{
    return mgds_staged_still(entry->staged.handle, entry->staged.serial);
}

static void empty_table(MPI_Request handle)
{
    struct mgds_staged_seen seen = mgds_staged_look(handle);

    if (seen.kind == MGDS_STAGED_SEND)
        assert_non_null(mgds_staged_take_send(handle, seen.serial));
    else if (seen.kind)
        mgds_staged_remove(seen.staged);
}

static int tear_down(void **state)
{
    (void)state;
    for (MPI_Request handle = ONE; handle <= GREQ; handle++)
        empty_table(handle);
    return mgds_staged_any();
}

/* Begins a call on so many requests. */
static void begin(struct mgds_wave *wave, MPI_Request *requests, int count,
                  int ours)
{
    assert_int_equal(mgds_wave_init(wave, requests, count, MPI_STATUSES_IGNORE),
                     ours);
}

static void a_completed_send_is_over(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct entry entry;

    (void)state;
    add(&entry, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_one(&wave, 0, MPI_SUCCESS), MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(entry.destroyed, 1);
    assert_int_equal(mgds_staged_look(ONE).kind, 0);
}

static void a_send_that_is_not_complete_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct entry entry;

    (void)state;
    add(&entry, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    mgds_wave_settle_one(&wave, -1, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(entry.destroyed, 0);
    assert_true(is_there(&entry));
}

/* By a call that tells one: Wait, Test, Waitany, Testany. */
static void anothers_send_with_the_handle_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct entry mine, other;

    (void)state;
    add(&mine, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL; /* below; and another thread's MPI_Isend: */
    add(&other, &send_ops, ONE);
    assert_int_equal(mine.destroyed, 1);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(mine.destroyed, 1);
    assert_int_equal(other.destroyed, 0);
    assert_true(is_there(&other));
}

/* By one that tells many, of which the last is not complete. */
static void each_of_many_is_its_own(void **state)
{
    MPI_Request requests[] = {ONE, TWO, THREE};
    const int indices[] = {1, 0};
    struct mgds_wave wave;
    static struct entry mine[3], other;

    (void)state;
    for (int i = 0; i < 3; i++)
        add(&mine[i], &send_ops, requests[i]);
    begin(&wave, requests, 3, 3);
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    add(&other, &send_ops, TWO);
    mgds_wave_settle_many(&wave, 2, indices, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mine[i].destroyed, i < 2);
    assert_int_equal(other.destroyed, 0);
    assert_true(is_there(&other) && is_there(&mine[2]));
    assert_int_equal(mgds_staged_look(ONE).kind, 0);
}

/* The handle comes back as one of another kind. */
static void anothers_persistent_request_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct entry mine, other;

    (void)state;
    add(&mine, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL;
    add(&other, &persistent_ops, ONE);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_true(is_there(&other));
    assert_int_equal(other.landed, 0);
    assert_int_equal(other.staged.state, MGDS_STAGED_ACTIVE);
}

/* MPI's error handler frees it at the end of the call below. */
static void a_persistent_request_that_a_handler_frees_is_left(void **state)
{
    MPI_Request requests[] = {ONE, TWO};
    struct mgds_wave wave;
    static struct entry mine, other;

    (void)state;
    add(&mine, &persistent_ops, ONE);
    add(&other, &persistent_ops, TWO);
    begin(&wave, requests, 2, 2);
    mgds_staged_remove(&mine.staged);
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(mine.landed, 0);
    assert_int_equal(mine.staged.state, MGDS_STAGED_ACTIVE);
    assert_int_equal(other.landed, 1);
    assert_int_equal(other.staged.state, MGDS_STAGED_INACTIVE);
}

/* A handler waits for the send, and sends anew from its place. */

static struct entry replaced, replacing;

static void replace(void)
{
    struct mgds_staged_seen seen = mgds_staged_look(ONE);

    assert_non_null(mgds_staged_take_send(ONE, seen.serial));
    add(&replacing, &send_ops, ONE);
}

static void a_send_that_a_handler_puts_in_its_place_is_over(void **state)
{
    static struct mgds_greq greq = {
        .staged = {.ops = &greq_ops, .handle = GREQ}};
    MPI_Request requests[] = {ONE, GREQ};
    struct mgds_wave wave;

    (void)state;
    add(&replaced, &send_ops, ONE);
    mgds_staged_add(&greq.staged);
    handler = replace;
    begin(&wave, requests, 2, 2);
    mgds_wave_drive_all(&wave);
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(replaced.destroyed, 0); /* it is the handler's */
    assert_int_equal(replacing.destroyed, 1);
    assert_int_equal(greq.refs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_completed_send_is_over, tear_down),
        cmocka_unit_test_teardown(a_send_that_is_not_complete_stays, tear_down),
        cmocka_unit_test_teardown(anothers_send_with_the_handle_stays,
                                  tear_down),
        cmocka_unit_test_teardown(each_of_many_is_its_own, tear_down),
        cmocka_unit_test_teardown(anothers_persistent_request_stays, tear_down),
        cmocka_unit_test_teardown(
            a_persistent_request_that_a_handler_frees_is_left, tear_down),
        cmocka_unit_test_teardown(
            a_send_that_a_handler_puts_in_its_place_is_over, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
